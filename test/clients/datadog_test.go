// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"testing"
	"time"

	"github.com/DataDog/dd-trace-go/v2/profiler"
	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDatadog uploads by Datadog's profiler, as to an agent.
func TestDatadog(t *testing.T) {
	// It would go to the agent, too.
	t.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
	g := start(t, "")
	startLoad(t, "controller", "cart")
	require.NoError(t, profiler.Start(
		profiler.WithAgentAddr(g.intake), profiler.WithService("from-datadog"), profiler.WithEnv("test"), profiler.WithVersion("1.2.3"),
		profiler.WithTags("team:a"), profiler.WithHostname("here"), profiler.WithLogStartup(false),
		profiler.WithPeriod(2*time.Second), profiler.CPUDuration(time.Second),
		profiler.MutexProfileFraction(1), profiler.BlockProfileRate(1),
		profiler.WithProfileTypes(profiler.CPUProfile, profiler.HeapProfile, profiler.GoroutineProfile, profiler.MutexProfile, profiler.BlockProfile),
	))
	defer profiler.Stop()
	var cpu *profile.Profile
	for kind, types := range map[string][]string{
		"cpu":       {"samples", "cpu"},
		"heap":      {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"goroutine": {"goroutine"},
		"mutex":     {"contentions", "delay"},
		"block":     {"contentions", "delay"},
	} {
		p := g.waitFor(t, "from-datadog", kind, hot)
		if kind == "cpu" {
			cpu = p
		}
		assert.Equal(t, types, typesOf(p), kind)
		assertResource(t, p, "service.name=from-datadog", "deployment.environment.name=test", "service.version=1.2.3", "host.name=here", "team=a", "runtime=go")
	}
	g.assertApart(t, "from-datadog")
	assertLabel(t, hot, "controller", "cart", cpu)
}
