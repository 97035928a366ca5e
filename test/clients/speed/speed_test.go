// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/npm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMeasure measures with few uploads: each API takes them, and has a time of each kind.
func TestMeasure(t *testing.T) {
	binary := os.Getenv("OTELPPROF_BINARY")
	if binary == "" {
		npm.Missing(t, "OTELPPROF_BINARY does not name the built distribution")
	}
	profile, err := os.ReadFile("../../../testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	results, err := measure(options{binary: binary, rounds: 2, uploads: 10, senders: 2}, profile)
	require.NoError(t, err)
	require.Len(t, results, 3)
	for _, r := range results {
		assert.Len(t, r.gateway, 2)
		assert.Len(t, r.decoding, 2)
		assert.Positive(t, r.decoding[0])
		assert.Len(t, r.latencies, 20)
		for _, latency := range r.latencies {
			assert.Positive(t, latency)
		}
	}
}

// TestRefused ends with what the gateway said.
func TestRefused(t *testing.T) {
	binary := os.Getenv("OTELPPROF_BINARY")
	if binary == "" {
		npm.Missing(t, "OTELPPROF_BINARY does not name the built distribution")
	}
	_, err := measure(options{binary: binary, rounds: 1, uploads: 1, senders: 1}, []byte("no profile"))
	require.ErrorContains(t, err, "raw pprof: status 400")
}

func TestRender(t *testing.T) {
	ms := func(times ...int) (all []time.Duration) {
		for _, n := range times {
			all = append(all, time.Duration(n)*time.Millisecond)
		}
		return all
	}
	table := render(options{rounds: 3, uploads: 500, senders: 4}, 96_606, []*result{
		{api: "raw pprof", path: "/v1/pprof", gateway: ms(9, 3, 4), decoding: ms(2, 1, 2), latencies: ms(1, 2, 3, 4, 50)},
	})
	assert.Contains(t, table, "a CPU profile of 97 kB")
	assert.Contains(t, table, "\n| raw pprof | `/v1/pprof` | 4.00 ms | 2.00 ms | 2.00 | 3.00 ms | 50.00 ms |\n")
}

func TestQuantile(t *testing.T) {
	assert.Zero(t, quantile(nil, 0.5))
	times := make([]time.Duration, 100)
	for i := range times {
		times[99-i] = time.Duration(i)
	}
	assert.EqualValues(t, 50, quantile(times, 0.5))
	assert.EqualValues(t, 99, quantile(times, 0.99))
}
