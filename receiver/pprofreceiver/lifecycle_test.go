// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

func TestLifecycle(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Server.Get().HTTP.NetAddr.Endpoint = "127.0.0.1:0"
	lifecycletest.Check(t, func() (xreceiver.Profiles, error) {
		return NewFactory().CreateProfiles(t.Context(), receivertest.NewNopSettings(metadata.Type), cfg, &sink{})
	})
}

func TestPortTaken(t *testing.T) {
	r := run(t, nil)
	cfg := createDefaultConfig().(*Config)
	cfg.Server.Get().HTTP.NetAddr.Endpoint = r.address
	second := must.Get(newReceiver(receivertest.NewNopSettings(metadata.Type), cfg, &sink{}))(t)
	require.ErrorContains(t, second.Start(t.Context(), componenttest.NewNopHost()), "address already in use")
	require.NoError(t, second.Shutdown(t.Context()))
}

// TestShutdownCancelsNothing: a shutdown waits for a request that has arrived, however long it is processed. Then nobody listens.
func TestShutdownCancelsNothing(t *testing.T) {
	entered := make(chan struct{})
	r := run(t, nil)
	r.sink.consume = func(ctx context.Context) error {
		close(entered)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(connections.ShutdownGrace + 200*time.Millisecond):
			return nil
		}
	}
	later := r.postLater(t, plain(t, cpuProfile(1)))
	<-entered
	require.NoError(t, r.receiver.Shutdown(context.WithoutCancel(t.Context())))
	assert.Len(t, r.sink.all(), 1)
	got := <-later
	assert.Equal(t, http.StatusNoContent, got.status, got.text)
	_, err := net.Dial("tcp", r.address)
	require.Error(t, err)
}

// TestShutdownIsBounded: requests that do not end in time are canceled, and nothing is passed on afterwards.
func TestShutdownIsBounded(t *testing.T) {
	r := run(t, nil)
	conn := r.raw(t, unfinished(1_000_000, 100_000))
	r.waitArriving(t, 1)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.ErrorIs(t, r.receiver.Shutdown(ctx), context.DeadlineExceeded)
	_, err := io.ReadAll(conn)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed, without an answer or with one")
	r.waitArriving(t, 0)

	in := r.receiver.intake
	m, err := in.begin(t.Context(), 0, func() {})
	require.NoError(t, err)
	defer m.arrival.Release()
	late := &batch{in: in, metrics: newAPIMetrics(in.metrics, "pprof"), memory: m}
	require.NoError(t, late.add(t.Context(), payload{format: in.formats.pprof(false, ""), content: plain(t, cpuProfile(1)), source: in.newSource()}))
	_, err = late.deliver(t.Context())
	require.ErrorContains(t, err, "shutting down")
	assert.Empty(t, r.sink.all())
}

// TestShutdownHurriesSenders: without a deadline, the shutdown soon refuses senders that have stalled. It does not wait
// for read_timeout.
func TestShutdownHurriesSenders(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.ReadTimeout = time.Hour })
	var conns []net.Conn
	for _, sent := range []int{0, 3, 100_000} {
		conns = append(conns, r.raw(t, unfinished(1_000_000, sent)))
	}
	r.waitArriving(t, 3)
	require.NoError(t, r.receiver.Shutdown(context.Background()))
	for _, conn := range conns {
		answer := must.Get(io.ReadAll(conn))(t)
		assert.Contains(t, string(answer), "503 Service Unavailable")
		assert.Contains(t, string(answer), "Retry-After: 5")
	}
	r.assertRefusals(t, map[string]int64{"busy": 3})
}

// TestConsumerErrors: the answer has the error of the next consumer, in the form of its API.
func TestConsumerErrors(t *testing.T) {
	later := errors.New("data refused due to high memory usage")
	for _, c := range []struct {
		err    error
		status int
		retry  string
		reason string
		code   string
	}{
		{err: later, status: 503, retry: "5", reason: "consumer_unavailable", code: "unavailable"},
		{err: consumererror.NewRetryableError(later), status: 503, retry: "5", reason: "consumer_unavailable", code: "unavailable"},
		{err: consumererror.NewPermanent(later), status: 400, reason: "consumer_rejected", code: "invalid_argument"},
		{err: memory.ErrExhausted, status: 503, retry: "5", reason: "memory_budget", code: "unavailable"},
		{err: consumererror.NewPermanent(memory.ErrTooLarge), status: 413, reason: "too_large", code: "resource_exhausted"},
	} {
		r := run(t, nil)
		r.sink.consume = func(context.Context) error { return c.err }
		body := plain(t, cpuProfile(2))
		for _, got := range []reply{
			r.post(t, "/v1/pprof", body), r.post(t, pushPath, pushRequest(false, nil, body), "Content-Type", "application/proto"),
		} {
			assert.Equal(t, c.status, got.status)
			assert.Equal(t, c.retry, got.header.Get("Retry-After"))
			assert.Contains(t, got.text, c.err.Error())
			if strings.HasPrefix(got.text, "{") {
				assert.Equal(t, c.code, connectError(t, got).Code)
			}
		}
		r.assertRefusals(t, map[string]int64{c.reason: 2})
		assert.EqualValues(t, 8, r.standard(t, "otelcol_receiver_refused_profile_samples"))
	}
}

// TestImpatientSender: the client disconnects while the next consumer is working.
func TestImpatientSender(t *testing.T) {
	entered := make(chan struct{})
	r := run(t, nil)
	r.sink.consume = func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	body := plain(t, cpuProfile(1))
	ctx, cancel := context.WithCancel(t.Context())
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/pprof", strings.NewReader(string(body))))(t)
	go func() {
		<-entered
		cancel()
	}()
	response, err := r.client.Do(request)
	if err == nil {
		response.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return r.refusals("aborted") == 1 }, time.Minute, 5*time.Millisecond)
}
