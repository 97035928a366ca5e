// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener keeps what a client logs.
type listener struct {
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

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.errors)
}

// TestPyroscopeGo uploads CPU, heap, goroutines, mutexes and blocking. An upload that is answered with anything but 200
// is an error in the client's log.
func TestPyroscopeGo(t *testing.T) {
	g := start(t, "")
	profileContention(t)
	startLoad(t, "controller", "cart")
	log := &listener{}
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
	var cpu *profile.Profile
	for kind, types := range map[string][]string{
		"cpu":       {"samples", "cpu"},
		"heap":      {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		"goroutine": {"goroutine"},
		"mutex":     {"contentions", "delay"},
		"block":     {"contentions", "delay"},
	} {
		p := g.waitFor(t, "from-pyroscope", kind, hot)
		if kind == "cpu" {
			cpu = p
		}
		assert.Equal(t, types, typesOf(p), kind)
		assertResource(t, p, "service.name=from-pyroscope", "region=eu-1", "pyroscope_spy=gospy")
	}
	g.assertApart(t, "from-pyroscope")
	assertLabel(t, hot, "controller", "cart", cpu)
	require.NoError(t, profiler.Stop())
	assert.Empty(t, log.all())
}

// TestPyroscopeGoWants200 shows that the test above would see an answer that the client does not like: it takes nothing
// but 200, and logs the rest.
func TestPyroscopeGoWants200(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	log := &listener{}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "unlucky", ServerAddress: server.URL, UploadRate: time.Second, Logger: log,
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileGoroutines},
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, profiler.Stop()) }()
	require.Eventually(t, func() bool { return len(log.all()) > 0 }, patience, 100*time.Millisecond)
	assert.Contains(t, log.all()[0], "(204)")
}
