// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inputs are for measurements of few uploads.
func inputs(t *testing.T) (options, yardsticks, []upload) {
	t.Helper()
	t.Parallel()
	profile := must.Get(os.ReadFile("../../../testdata/pprof/cpu.pb.gz"))(t)
	y := must.Get(newYardsticks(profile, 2))(t)
	uploads := must.Get(uploadsOf(y[0]))(t)
	return options{binary: gatewaytest.Binary(t), configs: "../../../config", rounds: 1, uploads: 10, senders: 2, load: time.Second, steady: time.Second}, y, uploads
}

// TestMeasure: each API takes the uploads, and has a time of each kind.
func TestMeasure(t *testing.T) {
	o, y, uploads := inputs(t)
	results, of, err := measure(o, y, uploads)
	require.NoError(t, err)
	require.Len(t, of, len(profiledOutputs))
	require.Len(t, results, 11, "five APIs with two outputs each, and files")
	for _, r := range results {
		assert.Len(t, r.gateway, 1)
		assert.Len(t, r.limit, 1)
		assert.Positive(t, r.limit[0])
	}
}

// TestMeasureShipped: the shipped configurations take the uploads, send them on, and have a time of each kind.
func TestMeasureShipped(t *testing.T) {
	o, y, uploads := inputs(t)
	chosen, err := shippedOf("gateway.yaml,kafka-front.yaml,splunk.yaml", "GOGC=50;yaml:processors::memory_limiter::limit_mib: 2000")
	require.NoError(t, err)
	require.Len(t, chosen, 6)
	results := must.Get(measureShipped(o, y, uploads, chosen))(t)
	require.Len(t, results, 6)
	for _, r := range results {
		assert.Positive(t, r.limit[0])
		require.Len(t, r.loads, len(loads))
		for _, l := range r.loads {
			if l.senders > 1 { // One upload may take less than the unit of the system.
				assert.Positive(t, l.cost[0])
			}
			assert.Positive(t, l.memory)
			assert.Equal(t, r.file == "gateway.yaml", l.sent > 0, r.file)
			assert.NotContains(t, l.latencies, time.Duration(0))
		}
	}
	joining, err := shippedOf("kafka-back.yaml,ebpf.yaml", "")
	require.NoError(t, err)
	require.Len(t, joining, 2)
	for i := range joining {
		joining[i].holds = time.Second // What waits for longer is measured with the next load.
	}
	joining[1].variant = "yaml:processors::profile_deduplicator::batch::timeout: 100ms"
	for _, r := range must.Get(measureShipped(o, y, uploads, joining))(t) {
		assert.Positive(t, slices.MaxFunc(r.loads, func(a, b loaded) int { return cmp.Compare(a.sent, b.sent) }).sent, "%s sends on", r.file)
	}
	_, err = shippedOf("none.yaml", "")
	require.ErrorContains(t, err, "none.yaml")
}

func TestMeasurePairs(t *testing.T) {
	o, _, uploads := inputs(t)
	o.base, o.baseConfigs = o.binary, o.configs
	all := pairsOf(uploads, allShipped)
	require.Len(t, all, 11+len(allShipped))
	pairs := []*pair{all[0], all[11]}
	require.NoError(t, measurePairs(o, pairs))
	for _, p := range pairs {
		assert.Len(t, p.base, 1)
		assert.Len(t, p.head, 1)
	}
}

// TestCheckPairs: a shipped configuration that is dearer in all rounds is an error.
func TestCheckPairs(t *testing.T) {
	of := func(shipped bool, head ...time.Duration) *pair {
		return &pair{name: fmt.Sprint(head), shipped: shipped, base: []time.Duration{100, 100, 100}, head: head}
	}
	require.NoError(t, checkPairs([]*pair{of(false, 120, 120, 120), of(true, 99, 120, 120), of(true, 101, 104, 120), of(true, 90, 90, 90)}))
	require.ErrorContains(t, checkPairs([]*pair{of(true, 101, 106, 107)}), "[101ns 106ns 107ns] costs 1.06 times")
}

func TestMeasureSteady(t *testing.T) {
	o, _, uploads := inputs(t)
	s := must.Get(measureSteady(o, uploads[0]))(t)
	assert.NotEmpty(t, s.latencies)
	assert.NotContains(t, s.latencies, time.Duration(0))
	assert.NotEmpty(t, s.pages)
	assert.Zero(t, s.refused)
	assert.Positive(t, s.files)
	assert.Equal(t, 10+len(s.latencies), s.uploads)
}

// TestRefused ends with the answer of the gateway.
func TestRefused(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		http.Error(w, "no "+request.URL.RawQuery+" of "+request.Header.Get("X-Scope-OrgID"), http.StatusBadRequest)
	}))
	defer server.Close()
	s := &sender{client: server.Client(), at: 1, sent: 7, tenants: 5}
	err := s.send(server.Listener.Addr().String(), upload{query: "?n=%d"}, 2)
	require.ErrorContains(t, err, "status 400: no n=7 of 2")
	assert.EqualValues(t, 2, requests.Load(), "the first one was sent again")
}

// TestYardstick does each part.
func TestYardstick(t *testing.T) {
	profile, err := os.ReadFile("../../../testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	y, err := newYardsticks(profile, 2)
	require.NoError(t, err)
	assert.Greater(t, len(y[0].plain), len(profile))
	times, err := y.measure(3)
	require.NoError(t, err)
	for p, took := range times {
		assert.Positive(t, took, p)
	}
	y[1].message = y[1].message[1:]
	_, err = y.measure(1)
	require.Error(t, err)
	_, err = newYardsticks([]byte("no profile"), 1)
	require.Error(t, err)
}

func TestRender(t *testing.T) {
	ms := func(times ...int) (all []time.Duration) {
		for _, n := range times {
			all = append(all, time.Duration(n)*time.Millisecond)
		}
		return all
	}
	table := render(options{rounds: 3, uploads: 500, senders: 4}, 96_606, []*result{
		{route: route{upload{api: "raw pprof", path: "/v1/pprof"}, otlp}, gateway: ms(9, 3, 4), limit: ms(2, 1, 2)},
	})
	assert.Contains(t, table, "a CPU profile of 97 kB")
	assert.Contains(t, table, "\n| raw pprof | OTLP | 4.00 | 2.00 | 2.00 ✗ |\n")
}

func TestRenderPairs(t *testing.T) {
	p := &pair{name: "raw pprof to files"}
	for _, base := range []time.Duration{2, 3, 4} {
		p.base, p.head = append(p.base, base*time.Millisecond), append(p.head, 3*time.Millisecond)
	}
	table := renderPairs(options{rounds: 3, uploads: 500, senders: 4}, []*pair{p})
	assert.Contains(t, table, "medians of 3 rounds of 500 uploads, 4 under way at a time")
	assert.Contains(t, table, "\n| raw pprof to files | 3.00 ms | 3.00 ms | 1.00 | 0.75 | 1.50 |\n")
}

func TestRenderShipped(t *testing.T) {
	ms := func(n time.Duration) []time.Duration { return []time.Duration{n * time.Millisecond} }
	table := renderShipped(options{load: time.Minute}, []*shippedResult{{
		shipped: shipped{file: "gateway.yaml", variant: "yaml:a: b"}, limit: ms(2),
		loads: []loaded{
			{schedule: schedule{senders: 8, latencies: []time.Duration{4e6, 5e6}}, cost: ms(3), sent: 1234, memory: 100 << 20},
			{schedule: schedule{senders: 64, part: 0.5}, cost: ms(4)},
		},
	}})
	assert.Contains(t, table, "at fixed times for 1m0s")
	assert.Contains(t, table, "\n| `gateway.yaml`, `a: b` | 8 |  | 3.00 | 1.50 | 1234 | 100 | 4.00 | 5.00 |\n")
	assert.Contains(t, table, "\n| `gateway.yaml`, `a: b` | 64 | 50 % | 4.00 | 2.00 ✗ | 0 | 0 | 0.00 | 0.00 |\n")
}

func TestRenderSteady(t *testing.T) {
	s := &steady{schedule: schedule{senders: 16, part: 0.5}, capacity: 30, pages: []time.Duration{time.Second}}
	for i := range 100 {
		s.latencies = append(s.latencies, time.Duration(10+i/10)*time.Millisecond)
	}
	page := renderSteady(options{steady: time.Hour}, 96_606, s)
	assert.Contains(t, page, "DURATION=1h0m0s")
	assert.Contains(t, page, "1 pages, median 1000.00 ms, longest 1000.00 ms, and 0 refused.")
	assert.Contains(t, page, "\n| 0s | 10.00 | 10.00 | 10.00 |\n| 6m0s | 11.00 |")
	assert.Contains(t, page, "Last tenth ÷ first: median **1.90** ✗, 99 % within **1.90** ✗ (target ≤ 1.25).")
	s.latencies = s.latencies[:30]
	assert.Contains(t, renderSteady(options{steady: time.Hour}, 0, s), "median **1.20**, 99 % within **1.20** (target")
}

func TestShares(t *testing.T) {
	at := func(value int64, functions ...string) *profile.Sample {
		s := &profile.Sample{Value: []int64{1, value}}
		for _, name := range functions {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		return s
	}
	got := sharesOf(&profile.Profile{Sample: []*profile.Sample{
		at(30, "runtime.memmove", "github.com/klauspost/compress/gzip.(*Reader).Read", "github.com/otelpprof/otelpprof/translator/pprof.(*Decoder).Decode"),
		at(60, "runtime.mallocgc", "github.com/otelpprof/otelpprof/translator/pprof.(*Decoder).Decode"),
		at(10, "runtime.schedule"),
	}})
	assert.Equal(t, shares{"inflating": 0.3, "translating pprof to OTLP": 0.6, otherWork: 0.1}, got)
	table := renderShares([]output{otlp, files}, []shares{got, {"gzip": 1}})
	assert.Contains(t, table, "| work | to OTLP | to files |\n|---|---:|---:|\n| translating pprof to OTLP | 60 % | 0 % |\n| inflating | 30 % | 0 % |\n")
}
