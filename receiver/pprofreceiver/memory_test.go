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
	"math"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/budgettest"
)

func used(b *budget.Budget) int64 {
	bytes, _ := b.Used()
	return bytes
}

// TestRead reads contents of many lengths, announced and not. The reservation follows the bytes that have arrived.
func TestRead(t *testing.T) {
	b := budget.New(1<<30, 0)
	in := &intake{budget: b}
	for _, length := range []int{1, 1000, firstBufferBytes - 1, firstBufferBytes, firstBufferBytes + 1, 1_000_000} {
		content := bytes.Repeat([]byte("content"), length/7+1)[:length]
		for announced, most := range map[int64]int64{-1: 2, 0: 2, int64(length): 1, 1 << 40: 2, math.MaxInt64: 2} {
			m := in.newMemory(t.Context())
			got, err := m.read(t.Context(), iotest.HalfReader(bytes.NewReader(content)), announced)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(content, got))
			allocated := firstBufferBytes * len(m.buffers)
			if cap(got) > firstBufferBytes {
				allocated += cap(got)
			}
			assert.EqualValues(t, allocated, used(b), "every buffer that the request has is reserved")
			assert.LessOrEqual(t, used(b), max(firstBufferBytes, most*int64(length)+1), "%d announced as %d", length, announced)
			m.release()
			assert.Zero(t, used(b))
		}
	}
	m := in.newMemory(t.Context())
	_, err := m.read(t.Context(), bytes.NewReader(nil), 10)
	require.ErrorIs(t, err, io.EOF)
	broken := errors.New("broken")
	_, err = m.read(t.Context(), io.MultiReader(bytes.NewReader(make([]byte, 100_000)), iotest.ErrReader(broken)), 0)
	require.ErrorIs(t, err, broken)
	m.release()
	assert.Zero(t, used(b))
}

// TestReadAboveBudget: reading stops at the limit of the budget.
func TestReadAboveBudget(t *testing.T) {
	b := budget.New(1<<20, 0)
	m := (&intake{budget: b}).newMemory(t.Context())
	from := io.LimitedReader{R: zeroReader{}, N: 1 << 40}
	_, err := m.read(t.Context(), &from, 0)
	require.ErrorIs(t, err, budget.ErrTooLarge)
	assert.Less(t, int64(1<<40)-from.N, int64(1<<20))
	m.release()
	assert.Zero(t, used(b))
}

// TestReserveWhileGone: the error for a client that disconnects while its request waits is not about memory.
func TestReserveWhileGone(t *testing.T) {
	b := budget.New(100, time.Minute)
	other, err := b.Reserve(t.Context(), 100)
	require.NoError(t, err)
	defer other.Release()
	ctx, cancel := context.WithCancel(t.Context())
	m := (&intake{budget: b}).newMemory(ctx)
	time.AfterFunc(time.Millisecond, cancel)
	assert.Equal(t, classAborted, classify(m.grow(ctx, 1)))
}

// TestScrapedMemory: fetched profiles reserve memory like requests. The counters of a delta are reserved until the
// shutdown.
func TestScrapedMemory(t *testing.T) {
	b := budget.New(64<<20, 0)
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(10)))))
	cfg := fetchConfig()
	section := cfg.Scrape.GetOrInsertDefault()
	section.Schedule = soon()
	section.Targets = []TargetConfig{{Endpoint: to.URL}}
	section.Profiles = []ScrapedProfile{{Name: profileMutex, Delta: DeltaComputed}, {Name: "other"}}
	next := &sink{consume: func(ctx context.Context) error {
		assert.Positive(t, budget.FromContext(ctx).Bytes())
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
	b := budget.New(1<<20, time.Millisecond)
	others, err := b.Reserve(t.Context(), 1<<20)
	require.NoError(t, err)
	to := newTarget(t, serve(gz(t, plain(t, cpuProfile(10)))))
	cfg := fetchConfig()
	section := cfg.Remote.GetOrInsertDefault()
	section.Schedule = soon()
	section.HTTP.Endpoint = to.URL
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
			b := budget.New(64<<20, 0)
			r := runOn(t, budgettest.NewHost(b), nil)
			r.sink.consume = func(ctx context.Context) error {
				assert.Greater(t, used(b), int64(requestBytes))
				assert.Equal(t, used(b), budget.FromContext(ctx).Bytes())
				return nil
			}
			got := send(r)
			require.Contains(t, []int{http.StatusOK, http.StatusNoContent}, got.status, got.text)
			require.Len(t, r.sink.all(), 1)
			require.Eventually(t, func() bool { return used(b) == 0 }, 10*time.Second, time.Millisecond)

			r.sink.set(func(context.Context) error { return errors.New("not now") })
			assert.Equal(t, http.StatusServiceUnavailable, send(r).status)
			require.Eventually(t, func() bool { return used(b) == 0 }, 10*time.Second, time.Millisecond)
		})
	}
}

// TestRequestIsHeld: while a request waits for the next consumer, its goroutine and header are reserved beside its message.
func TestRequestIsHeld(t *testing.T) {
	const requests = 20
	body := plain(t, cpuProfile(10))
	b := budget.New(64<<20, 0)
	r := runOn(t, budgettest.NewHost(b), func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests = requests })
	_, stats, err := r.receiver.intake.decoder.Decode(body, r.receiver.intake.newSource())
	require.NoError(t, err)
	entered, leave := make(chan struct{}), make(chan struct{})
	r.sink.set(func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	var answers []<-chan reply
	for range requests {
		answers = append(answers, r.postLater(t, "/v1/pprof", body))
		<-entered
	}
	assert.GreaterOrEqual(t, used(b), requests*(consumeFactor*stats.MessageBytes+requestBytes))
	close(leave)
	for _, answer := range answers {
		assert.Equal(t, http.StatusNoContent, (<-answer).status)
	}
	require.Eventually(t, func() bool { return used(b) == 0 }, 10*time.Second, time.Millisecond)
}

// TestRequestKeepsItsHeader: a consumer that takes the memory of a large message leaves that of the goroutine and the header.
func TestRequestKeepsItsHeader(t *testing.T) {
	b := budget.New(64<<20, 0)
	r := runOn(t, budgettest.NewHost(b), nil)
	left := int64(0)
	r.sink.set(func(ctx context.Context) error {
		const large = 10 << 20
		request := budget.FromContext(ctx)
		if err := request.Grow(ctx, large); err != nil {
			return err
		}
		request.Take(large).Release()
		left = request.Bytes()
		return nil
	})
	assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", plain(t, cpuProfile(10))).status)
	assert.GreaterOrEqual(t, left, int64(requestBytes))
}

// TestMemoryExhausted: while other requests use the memory, a request is refused with a retryable error, over every API.
// This includes requests whose body fits, but not their profiles.
func TestMemoryExhausted(t *testing.T) {
	const size = 8 << 20                                 // A small part of it is more than a request, see budget.
	const body = requestBytes + firstBufferBytes + 4<<10 // It is enough for the header and the body.
	for name, send := range requests(t) {
		for _, free := range []int64{0, body, body + 48<<10} {
			t.Run(fmt.Sprintf("%s/%d bytes are free", name, free), func(t *testing.T) {
				b := budget.New(size, 10*time.Millisecond)
				r := runOn(t, budgettest.NewHost(b), nil)
				r.sink.consume = func(context.Context) error { return nil }
				others, err := b.Reserve(t.Context(), size-free)
				require.NoError(t, err)
				got := send(r)
				assert.Equal(t, http.StatusServiceUnavailable, got.status, got.text)
				assert.NotEmpty(t, got.header.Get("Retry-After"))
				assert.Contains(t, got.text, budget.ErrExhausted.Error())
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
	r := runOn(t, budgettest.NewHost(budget.New(1<<20, time.Minute)), nil)
	for _, body := range [][]byte{gz(t, plain(t, large)), bytes.Repeat([]byte("incompressible"), 1<<18)} {
		got := r.post(t, "/v1/pprof", body)
		assert.Equal(t, http.StatusRequestEntityTooLarge, got.status, got.text)
		assert.Regexp(t, "needs [0-9]+ bytes", got.text)
		assert.Empty(t, got.header.Get("Retry-After"))
	}
	r.assertRefusals(t, map[string]int64{"too_large": 2})
}

// TestConsumerWithoutMemory: an error of the next consumer about memory gets the same answer as one of the receiver.
func TestConsumerWithoutMemory(t *testing.T) {
	for want, err := range map[int]error{
		http.StatusRequestEntityTooLarge: consumererror.NewPermanent(budget.ErrTooLarge), http.StatusServiceUnavailable: budget.ErrExhausted,
	} {
		r := run(t, nil)
		r.sink.consume = func(context.Context) error { return err }
		assert.Equal(t, want, r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status)
	}
}

// TestWaitingAtShutdown: a request that waits to be processed during a shutdown is refused with a retryable error. Its
// client is still connected.
func TestWaitingAtShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	body := plain(t, cpuProfile(1))
	r := run(t, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests, s.ConcurrencyWait = 1, time.Minute })
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	first := r.postLater(t, "/v1/pprof", body)
	<-entered
	second := r.postLater(t, "/v1/pprof", body)
	arriving := r.receiver.sections[0].(*server).arrivals
	require.Eventually(t, func() bool {
		arriving.mu.Lock()
		defer arriving.mu.Unlock()
		return arriving.held > 0 && arriving.incomplete.Len() == 0
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
