// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/budgettest"
)

// arrive begins an arrival of the bytes that are written to the pipe. If the arrival ends early, the pipe is closed.
func (a *arrivals) arrive(t *testing.T) (*arrival, *io.PipeWriter) {
	t.Helper()
	from, to := io.Pipe()
	one := &arrival{all: a, sender: from, expire: func() { _ = from.CloseWithError(errors.New("deadline")) }}
	require.NoError(t, one.begin())
	t.Cleanup(func() {
		one.end()
		_ = from.Close()
	})
	return one, to
}

// TestStalledBodiesGoFirst: when arriving bodies reach their limit, those that have stalled longest are refused, however
// much they have sent. A body that makes progress is not refused.
func TestStalledBodiesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &arrivals{limit: 12 * firstBufferBytes}
		send := func(to io.Writer, size int) {
			go func() { _, _ = to.Write(make([]byte, size)) }()
		}
		read := func(one *arrival, size int) error {
			_, err := io.ReadFull(one, make([]byte, size))
			return err
		}
		stalled, stalledSender := a.arrive(t)
		active, activeSender := a.arrive(t)
		send(stalledSender, 2*firstBufferBytes)
		require.NoError(t, read(stalled, 2*firstBufferBytes))
		send(activeSender, 2*firstBufferBytes)
		require.NoError(t, read(active, 2*firstBufferBytes))
		assert.EqualValues(t, 8*firstBufferBytes, a.held)

		time.Sleep(stallTime)
		waiting := make(chan error)
		go func() { waiting <- read(stalled, 1) }()
		newcomer, newcomerSender := a.arrive(t)
		send(newcomerSender, 2*firstBufferBytes)
		require.NoError(t, read(newcomer, 2*firstBufferBytes))
		err := <-waiting
		assert.Equal(t, classMemory, classify(err), err)
		assert.ErrorContains(t, err, "786432 bytes")
		require.ErrorIs(t, stalled.complete(), err)

		// A single byte is no progress, 64 KiB are.
		send(newcomerSender, 1)
		require.NoError(t, read(newcomer, 1))
		send(activeSender, firstBufferBytes)
		require.NoError(t, read(active, firstBufferBytes))
		require.NoError(t, active.complete())
		time.Sleep(stallTime)
		another, anotherSender := a.arrive(t)
		send(anotherSender, 2*firstBufferBytes)
		require.NoError(t, read(another, 2*firstBufferBytes), "a complete body holds 6 parts, 4 of those for large bodies are free")
		assert.Equal(t, classMemory, classify(newcomer.complete()))

		// Complete bodies stay, and new ones are refused.
		require.NoError(t, another.complete())
		last, lastSender := a.arrive(t)
		send(lastSender, 1)
		assert.Equal(t, classMemory, classify(read(last, 1)))
		active.end()
		another.end()
		assert.Zero(t, a.held)
		assert.Zero(t, a.incomplete.Len())
	})
}

// TestManyLargeBodies: if more large bodies begin than fit, those that began first arrive, and small ones arrive beside them.
func TestManyLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		a := &arrivals{limit: 24 << 20}
		read := func(size int64) error {
			one := &arrival{all: a, announced: size, sender: &slowReader{size}, expire: func() {}}
			if err := one.begin(); err != nil {
				return err
			}
			defer one.end()
			_, err := io.Copy(io.Discard, one)
			return errors.Join(err, one.complete())
		}
		var group sync.WaitGroup
		var large, small atomic.Int64
		for range 100 {
			group.Go(func() {
				if read(size) == nil {
					large.Add(1)
				}
			})
		}
		for range 100 {
			if read(10_000) == nil {
				small.Add(1)
			}
		}
		group.Wait()
		assert.EqualValues(t, 2, large.Load(), "7/8 of the limit")
		assert.EqualValues(t, 100, small.Load())
		assert.Zero(t, a.held)
	})
}

// slowReader returns this many bytes, at most 64 KiB in a millisecond.
type slowReader struct{ left int64 }

func (s *slowReader) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Millisecond)
	n := min(int64(len(p)), s.left, firstBufferBytes)
	s.left -= n
	return int(n), nil
}

// TestBodyAboveShare: a body that needs more than the limit of all bodies is rejected permanently.
func TestBodyAboveShare(t *testing.T) {
	a := &arrivals{limit: 3 * firstBufferBytes}
	one, _ := a.arrive(t)
	one.sender = zeros(10 * firstBufferBytes)
	got, err := io.ReadAll(one)
	assert.Equal(t, classTooLarge, classify(err), err)
	assert.Less(t, len(got), 4*firstBufferBytes)
	assert.Zero(t, a.held)
}

// TestBodyRate: a body that arrives too slowly is refused as soon as that is certain.
func TestBodyRate(t *testing.T) {
	for bytesBefore, want := range map[int]time.Duration{1: rateGrace + 10*time.Millisecond, 200: rateGrace + 2*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			a := &arrivals{limit: 1 << 30, minRate: 100}
			one, to := a.arrive(t)
			time.Sleep(time.Hour) // It has not begun.
			go func() { _, _ = to.Write(make([]byte, bytesBefore)) }()
			_, err := io.ReadFull(one, make([]byte, bytesBefore))
			require.NoError(t, err)
			begin := time.Now()
			_, err = one.Read(make([]byte, 1))
			assert.Equal(t, classTooSlow, classify(err), err)
			assert.ErrorContains(t, err, fmt.Sprintf("%d bytes of the body", bytesBefore))
			assert.ErrorContains(t, err, "min_body_rate is 100")
			assert.Equal(t, want, time.Since(begin))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		a := &arrivals{limit: 1 << 30, minRate: 100}
		one, to := a.arrive(t)
		go func() {
			for range 1000 {
				_, _ = to.Write(make([]byte, 100))
				time.Sleep(time.Second)
			}
			_ = to.Close()
		}()
		got, err := io.ReadAll(one)
		require.NoError(t, err)
		assert.Len(t, got, 100_000)
		require.NoError(t, one.complete())
		time.Sleep(time.Hour)
		require.NoError(t, one.complete(), "a complete body can wait to be processed without a limit")
	})
}

// TestStallingTenants: 64 connections of different tenants send 64 kB each and stall. They fill their part of the budget,
// and no other request waits.
func TestStallingTenants(t *testing.T) {
	r := runOn(t, budgettest.NewHost(budget.New(8<<20, 5*time.Second)), func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.MaxConcurrentRequestsPerTenant, s.ConcurrencyWait = 4, 2, 0
	})
	for i := range 64 {
		r.raw(t, fmt.Sprintf("POST /v1/pprof HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: t%d\r\nContent-Length: 1000000\r\n\r\n%s", i, strings.Repeat("x", 64_000)))
	}
	body := plain(t, cpuProfile(1))
	begin := time.Now()
	for range 20 {
		got := r.post(t, "/v1/pprof", body, tenantHeader, "honest")
		require.Equal(t, http.StatusNoContent, got.status, got.text)
	}
	assert.Less(t, time.Since(begin), slowdown*5*time.Second)
	assert.Eventually(t, func() bool { return r.refusals("memory_budget") > 0 }, slowdown*5*time.Second, time.Millisecond, "they held their limit")
}

// TestRefusedArrivalIsAnswered: a client that stalled gets the error, over HTTP/1 and HTTP/2.
func TestRefusedArrivalIsAnswered(t *testing.T) {
	r := runOn(t, budgettest.NewHost(budget.New(5*firstBufferBytes, time.Second)), nil)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	from, to := io.Pipe()
	defer to.Close()
	go func() { _, _ = to.Write([]byte("x")) }()
	answer := make(chan *http.Response, 1)
	go func() {
		response, err := (&http.Client{Transport: transport}).Post(r.url+"/v1/pprof", "", from)
		if assert.NoError(t, err) {
			response.Body.Close()
		}
		answer <- response
	}()
	r.waitArriving(t, 1, 1)
	time.Sleep(stallTime)
	conn := r.raw(t, unfinished(1000, 3))
	response := <-answer
	assert.Equal(t, 2, response.ProtoMajor)
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.NotEmpty(t, response.Header.Get("Retry-After"))

	r.waitArriving(t, 1, 3)
	time.Sleep(stallTime)
	r.raw(t, unfinished(1000, 4))
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Contains(t, string(text), "503 Service Unavailable")
	assert.Contains(t, string(text), "stalled for longest")
	r.assertRefusals(t, map[string]int64{"memory_budget": 2})
}
