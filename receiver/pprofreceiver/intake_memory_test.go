// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

func used(b *memory.Budget) int64 {
	bytes, _ := b.Used()
	return bytes
}

// holdAllBut reserves all of a budget but so many bytes.
func holdAllBut(t *testing.T, b *memory.Budget, free int64) *memory.Reservation {
	t.Helper()
	return budgettest.Hold(t, b, b.Size()-free)
}

// TestReadAboveBudget: reading stops at the limit of the budget.
func TestReadAboveBudget(t *testing.T) {
	b := memory.New(1<<20, 0)
	m, err := (&intake{budget: b}).begin(t.Context(), 0, func() {})
	require.NoError(t, err)
	from := io.LimitedReader{R: zeroReader{}, N: 1 << 40}
	_, err = m.read(t.Context(), &from, -1)
	require.ErrorIs(t, err, memory.ErrTooLarge)
	assert.Less(t, int64(1<<40)-from.N, int64(1<<20))
	m.arrival.Release()
	assert.Zero(t, used(b))
}

// TestReserveWhileGone: the error for a client that disconnects while its request waits is not about memory.
func TestReserveWhileGone(t *testing.T) {
	b := memory.New(100_000, time.Minute)
	other, err := budgettest.Reserve(t.Context(), b, 80_000)
	require.NoError(t, err)
	defer other.Release()
	ctx, cancel := context.WithCancel(t.Context())
	m, err := (&intake{budget: b}).begin(ctx, 0, func() {})
	require.NoError(t, err)
	time.AfterFunc(time.Millisecond, cancel)
	assert.Equal(t, aborted, classOf(m.Need(50_000)))
}

// TestCountersBesideTheirProfile: counters that can never be reserved beside their profile do not wait for it to be released.
func TestCountersBesideTheirProfile(t *testing.T) {
	b := memory.New(1<<20, time.Millisecond)
	in := &intake{budget: b}
	m, err := in.begin(t.Context(), 500<<10, func() {})
	require.NoError(t, err)
	payloads := &batch{in: in, metrics: nil, memory: m}
	payloads.samples = 150 << 10 / counterBytes
	var one tracker
	require.ErrorIs(t, one.begin(t.Context(), payloads), memory.ErrTooLarge)
	require.NoError(t, m.Err(), "the work on the profile fits")
	one.release()
	m.arrival.Release()
	assert.Zero(t, used(b))
}

// TestScrapedMemory: fetched profiles reserve memory like requests. The counters of a delta are reserved until the
// shutdown.
func TestScrapedMemory(t *testing.T) {
	b := memory.New(64<<20, 0)
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(10)))))
	cfg, section := scrapeConfig(to.URL)
	section.Profiles = []ScrapedProfile{{Name: profileMutex, Delta: DeltaComputed}, {Name: "other"}}
	next := &sink{consume: func(ctx context.Context) error {
		assert.Positive(t, memory.FromContext(ctx).Bytes())
		return nil
	}}
	r := runInto(t, budgettest.NewHost(b), cfg, next)
	r.waitOutcome(t, outcomeBaseline, 1)
	r.sink.wait(t, 3)
	assert.GreaterOrEqual(t, used(b), int64(20*counterBytes), "10 samples of 2 types are remembered")
	require.NoError(t, r.receiver.Shutdown(t.Context()))
	assert.Zero(t, used(b))
}

// TestScrapedMemoryExhausted: a profile whose memory cannot be reserved is dropped and counted.
func TestScrapedMemoryExhausted(t *testing.T) {
	b := memory.New(1<<20, time.Millisecond)
	others := holdAllBut(t, b, 0)
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(10)))))
	cfg, _ := remoteConfig(to.URL)
	r := runInto(t, budgettest.NewHost(b), cfg, &sink{})
	r.waitOutcome(t, "memory_budget", 1)
	others.Release()
	r.waitOutcome(t, outcomeOK, 1)
}

// requests has one small profile over every API and in every compression.
func requests(t *testing.T) map[string]func(r *running) reply {
	t.Helper()
	profile := plain(t, cpuProfile(1))
	message := pushRequest(false, map[string]string{"service_name": "a"}, profile, gz(t, profile))
	form := formOf("b", "cpu.pprof", string(profile), "event", event)
	ingest := formOf("b", "profile", string(profile))
	json := []byte(`{"series":[{"labels":[{"name":"a","value":"b"}],"samples":[{"rawProfile":"` + base64.StdEncoding.EncodeToString(profile) + `"}]}]}`)
	post := func(target string, body []byte, headers ...string) func(*running) reply {
		return func(r *running) reply { return r.post(t, target, body, headers...) }
	}
	zipped := []string{"Content-Encoding", "gzip"}
	return map[string]func(*running) reply{
		"raw":           post("/v1/pprof", profile),
		"raw gzip":      post("/v1/pprof", gz(t, profile), zipped...),
		"raw zlib":      post("/v1/pprof", zlibOf(t, profile), "Content-Encoding", "zlib"),
		"ingest":        post("/ingest?name=a", ingest, asForm...),
		"ingest gzip":   post("/ingest?name=a", gz(t, ingest), append(zipped, asForm...)...),
		"push":          post(pushPath, message, "Content-Type", "application/proto"),
		"push zstd":     post(pushPath, zs(t, message), "Content-Type", "application/proto", "Content-Encoding", "zstd"),
		"push JSON":     post(pushPath, json, "Content-Type", "application/json"),
		"datadog":       post("/profiling/v1/input", form, asForm...),
		"datadog gzip":  post("/profiling/v1/input", gz(t, form), append(zipped, asForm...)...),
		"parca by JSON": post(parcaGatewayPath, []byte(`{"series":[{"samples":[{"rawProfile":"`+base64.StdEncoding.EncodeToString(profile)+`"}]}]}`), "Content-Type", "application/json"),
	}
}

// TestMemoryIsHeld: while the next consumer has a message, twice its size is reserved, and the consumer can take over the
// reservation. Afterwards nothing is reserved, whatever the result.
func TestMemoryIsHeld(t *testing.T) {
	for name, send := range requests(t) {
		t.Run(name, func(t *testing.T) {
			b := memory.New(64<<20, 0)
			r := runOn(t, budgettest.NewHost(b), nil)
			r.sink.consume = func(ctx context.Context) error {
				assert.Greater(t, used(b), int64(requestBytes))
				assert.Greater(t, memory.FromContext(ctx).Bytes(), int64(2000))
				assert.GreaterOrEqual(t, used(b), memory.FromContext(ctx).Bytes()+requestBytes)
				return nil
			}
			got := send(r)
			require.Contains(t, []int{http.StatusOK, http.StatusNoContent}, got.status, got.text)
			require.Len(t, r.sink.all(), 1)
			require.Eventually(t, func() bool { return used(b) == 0 }, time.Minute, time.Millisecond)

			r.sink.set(func(context.Context) error { return errors.New("not now") })
			assert.Equal(t, http.StatusServiceUnavailable, send(r).status)
			require.Eventually(t, func() bool { return used(b) == 0 }, time.Minute, time.Millisecond)
		})
	}
}

// TestLabelsAreHeld: the message has the labels of the request, too.
func TestLabelsAreHeld(t *testing.T) {
	r := run(t, nil)
	var held int64
	r.sink.set(func(ctx context.Context) error {
		held = memory.FromContext(ctx).Bytes()
		return nil
	})
	labels := map[string]string{}
	for i := range 100 {
		labels[strconv.Itoa(i)] = strings.Repeat("v", maxLabelValue)
	}
	got := r.post(t, pushPath, pushRequest(false, labels, plain(t, cpuProfile(1))), "Content-Type", typeProto)
	require.Equal(t, http.StatusOK, got.status, got.text)
	assert.GreaterOrEqual(t, held, memory.MessageFactor*dictionary.MessageMemory(r.sink.one(t)))
}

// TestMemoryExhausted: while other requests use the memory, a request is refused with a retryable error, over every API.
// This includes requests whose body fits, but not their profiles.
func TestMemoryExhausted(t *testing.T) {
	const size = 8 << 20              // A small part of it is more than a request, see budget.
	const body = requestBytes + 8<<10 // It is enough for the header and the body.
	for name, send := range requests(t) {
		for _, free := range []int64{0, body, body + 48<<10} {
			t.Run(fmt.Sprintf("%s/%d bytes are free", name, free), func(t *testing.T) {
				b := memory.New(size, 10*time.Millisecond)
				r := runOn(t, budgettest.NewHost(b), nil)
				r.sink.consume = func(context.Context) error { return nil }
				others := holdAllBut(t, b, free)
				got := send(r)
				assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
				assert.NotEmpty(t, got.header.Get("Retry-After"))
				assert.Contains(t, got.text, memory.ErrExhausted.Error())
				r.assertRefusals(t, map[string]int64{"memory_budget": 1})
				assert.Empty(t, r.sink.all())
				others.Release()
				assert.Less(t, send(r).status, 300)
			})
		}
	}
}

// TestMemoryTooLarge: a request above the whole budget is rejected permanently, with the numbers.
func TestMemoryTooLarge(t *testing.T) {
	large := cpuProfile(1)
	for i := range 9_000 {
		large.Comments = append(large.Comments, fmt.Sprintf("%0200d", i))
	}
	r := runOn(t, budgettest.NewHost(memory.New(1<<20, time.Minute)), nil)
	for _, body := range [][]byte{gz(t, plain(t, large)), bytes.Repeat([]byte("incompressible"), 1<<18)} {
		got := r.post(t, "/v1/pprof", body)
		assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
		assert.Regexp(t, "needs [0-9]+ bytes", got.text)
		assert.Empty(t, got.header.Get("Retry-After"))
	}
	r.assertRefusals(t, map[string]int64{"too_large": 2})
}

// TestWaitingAtShutdown: a request that waits to be processed during a shutdown is refused with a retryable error. Its
// client is still connected.
func TestWaitingAtShutdown(t *testing.T) {
	body := plain(t, cpuProfile(1))
	r := runWaiting(t, time.Minute, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests = 1 })
	entered, release := r.holdRequests("/v1/pprof")
	first := r.postLater(t, body)
	<-entered
	budget := r.receiver.intake.budget
	one := used(budget)
	second := r.postLater(t, body)
	require.Eventually(t, func() bool {
		return used(budget) > one && budget.Arriving() == 0
	}, time.Minute, time.Millisecond, "it is complete, and waits to be processed")
	ended := make(chan error)
	go func() { ended <- r.receiver.Shutdown(context.WithoutCancel(t.Context())) }()
	got := <-second
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
	assert.NotEmpty(t, got.header.Get("Retry-After"))
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
	require.NoError(t, <-ended)
}
