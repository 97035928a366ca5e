// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/pyroscope-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener keeps what a client logs.
type listener struct {
	t      *testing.T
	mu     sync.Mutex
	errors []string
}

func (*listener) Infof(string, ...any) {}

func (*listener) Debugf(string, ...any) {}

func (l *listener) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

// TestPyroscopeGo uploads CPU, heap, goroutines, mutexes and blocking. An upload that is answered with anything but 200
// is an error in the client's log.
func TestPyroscopeGo(t *testing.T) {
	g := start(t, "")
	profileContention(t)
	startLoad(t, "controller", "cart")
	log := &listener{t: t}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "from-pyroscope", ServerAddress: "http://" + g.intake, TenantID: "team-a",
		Tags: map[string]string{"region": "eu-1"}, UploadRate: time.Second, Logger: log,
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileAllocSpace, pyroscope.ProfileAllocObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileGoroutines, pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	require.NoError(t, err)
	for kind, types := range map[string][]string{
		"cpu":         {"samples", "cpu"},
		"inuse_space": {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"goroutines":  {"goroutine"},
		"mutex":       {"contentions", "delay"},
		"block":       {"contentions", "delay"},
	} {
		p := g.waitFor(t, "from-pyroscope", kind, hot)
		assert.Equal(t, types, typesOf(p), kind)
		assertResource(t, p, "service.name=from-pyroscope", "region=eu-1", "pyroscope_spy=gospy")
		if kind == "cpu" {
			assert.Equal(t, []string{"cart"}, samplesIn(p, hot)[0].Label["controller"])
		}
	}
	require.NoError(t, profiler.Stop())
	log.mu.Lock()
	defer log.mu.Unlock()
	assert.Empty(t, log.errors)
	assert.NotContains(t, strings.ToLower(g.Log()), "refused a request")
}
