// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

// loadedConfig is a gateway with all receivers and a queue on disk. It answers after a profile is in the queue.
const loadedConfig = `yaml:
receivers:
  pprof:
    server:
      endpoint: %s
  otlp:
    protocols:
      grpc:
        endpoint: %s
        max_recv_msg_size_mib: 64
  splunk_log_profile:
    protocols:
      http:
        endpoint: %s
processors:
  memory_limiter:
    check_interval: 100ms
    limit_mib: %d
    spike_limit_mib: %d
  profile_deduplicator:
exporters:
  otlp_grpc:
    endpoint: %s
    # A destination that shares a busy machine takes its time; what is given up is sent again, which makes it no faster.
    timeout: 1m
    tls:
      insecure: true
    sending_queue:
      storage: file_storage
      sizer: bytes
      queue_size: 1000000000
    retry_on_failure:
      initial_interval: 50ms
      max_interval: 500ms
      max_elapsed_time: 0
extensions:
  file_storage:
    directory: %s
    create_directory: true
  health_check:
    endpoint: %s
service:
  extensions: [file_storage, health_check]
  pipelines:
    profiles:
      receivers: [pprof, otlp, splunk_log_profile]
      processors: [memory_limiter, profile_deduplicator]
      exporters: [otlp_grpc]
`

// loaded is a gateway with a queue on disk that can be killed and started again, between senders and a destination.
type loaded struct {
	load.Targets
	// metrics and health are the addresses of its metrics and of health_check. They stay the same when it is restarted.
	metrics, health string
	configs         []string

	running     *gateway.Gateway
	uploads     *load.Uploads
	destination *otlpsink.Sink
	account     *profiletest.Account
	queue       string
	next        atomic.Int64
	memoryMiB   int
	environment []string
	gates       []string
}

// newLoaded prepares one whose queue is in this directory.
func newLoaded(t *testing.T, queue string, more ...string) *loaded {
	t.Helper()
	return newLoadedWith(t, &loaded{queue: queue, memoryMiB: 1000}, more...)
}

// newLoadedWith prepares one of which queue, memory and environment are set.
func newLoadedWith(t *testing.T, l *loaded, more ...string) *loaded {
	t.Helper()
	l.account = profiletest.NewAccount()
	l.read(t, load.NewUploads)
	var err error
	l.destination, err = otlpsink.Start(t.Context(), "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(l.destination.Stop)
	l.back()
	l.prepare(t, l.destination.Address(), more...)
	return l
}

// read says what is uploaded.
func (l *loaded) read(t *testing.T, read func(root string) (*load.Uploads, error)) {
	t.Helper()
	var err error
	l.uploads, err = read("../..")
	require.NoError(t, err)
}

// prepare says where the gateway sends to.
func (l *loaded) prepare(t *testing.T, destination string, more ...string) {
	t.Helper()
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 5))(t)
	l.Targets = load.Targets{Pprof: addresses[0], OTLP: addresses[1], Splunk: addresses[2]}
	l.health, l.metrics = addresses[3], addresses[4]
	config := fmt.Sprintf(loadedConfig, addresses[0], addresses[1], addresses[2], l.memoryMiB, l.memoryMiB/5, destination, l.queue, l.health)
	l.configs = append([]string{config, gateway.MetricsAt(l.metrics)}, more...)
}

// run starts the gateway. It is killed when ctx ends. While the gateway is down, another process can use its address for a moment to
// find free ports. Then run tries again.
func (l *loaded) run(ctx context.Context, t *testing.T) (running *gateway.Gateway, err error) {
	t.Helper()
	options := gateway.Options{
		Binary: gatewaytest.Binary(t), Configs: l.configs, HealthURL: "http://" + l.health, Environment: l.environment, Gates: l.gates,
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Second) {
		running, err = gateway.Start(ctx, options)
		if err == nil || !strings.Contains(err.Error(), "address already in use") || time.Now().After(end) {
			return running, err
		}
	}
}

// away lets the destination refuse everything for now, back lets it take everything.
func (l *loaded) away() {
	l.destination.Take(func(context.Context, pprofile.Profiles) error { return status.Error(codes.Unavailable, "away") })
}

func (l *loaded) back() {
	l.destination.Take(func(_ context.Context, pd pprofile.Profiles) error {
		l.account.Arrived(pd)
		return nil
	})
}

// start runs the gateway until the test ends, or kills it.
func (l *loaded) start(t *testing.T) {
	t.Helper()
	// The test's own context ends before its cleanups run, and would kill the process.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	g, err := l.run(ctx, t)
	if err != nil {
		cancel()
		require.NoError(t, err)
	}
	l.running = g
	t.Cleanup(func() {
		defer cancel()
		if g.Running() {
			g.Kill()
		}
		if t.Failed() {
			t.Logf("the gateway said:\n%.20000s", g.Log())
		}
	})
}

// send uploads n more from several senders, each until it is accepted, and calls between after each.
func (l *loaded) send(t *testing.T, n int, between func(done int)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longPatience+time.Duration(n)*200*time.Millisecond)
	defer cancel()
	first, end := l.next.Load(), l.next.Load()+int64(n)
	var done atomic.Int64
	var sending sync.WaitGroup
	sending.Go(func() {
		l.upload(ctx, t, func(number int64) bool { return number < end }, func(load.Outcome) { done.Add(1) })
	})
	for last := int64(0); last < int64(n) && !t.Failed(); time.Sleep(time.Millisecond) {
		if now := done.Load(); now != last {
			last = now
			between(int(now))
		}
	}
	sending.Wait()
	l.next.Store(first + int64(n))
	require.False(t, t.Failed())
}

// upload sends from several senders for as long as more says so, each upload until it has its answer.
func (l *loaded) upload(ctx context.Context, t *testing.T, more func(number int64) bool, done func(load.Outcome)) {
	t.Helper()
	var group sync.WaitGroup
	for range uploaders {
		group.Go(func() {
			sender, err := load.NewSender(l.uploads, l.Targets)
			if !assert.NoError(t, err) {
				return
			}
			defer func() { assert.NoError(t, sender.Close()) }()
			for i := l.next.Add(1) - 1; more(i) && !t.Failed(); i = l.next.Add(1) - 1 {
				done(l.sendOne(ctx, t, sender, int(i)))
			}
		})
	}
	group.Wait()
}

func (l *loaded) sendOne(ctx context.Context, t *testing.T, sender *load.Sender, number int) load.Outcome {
	t.Helper()
	profiles, err := l.uploads.Profiles(number)
	assert.NoError(t, err)
	l.account.Sent(otlpsink.Delivered(profiles...)...)
	outcome, err := sender.Send(ctx, number)
	assert.NoError(t, err)
	assert.NoError(t, load.Check(&outcome))
	return outcome
}

// waitForAll waits until everything that was accepted has arrived, as it was.
func (l *loaded) waitForAll(t *testing.T) profiletest.Balance {
	t.Helper()
	assert.Eventually(t, func() bool { return len(l.account.Balance().Missing) == 0 }, longPatience, pollEvery)
	b := l.account.Balance()
	require.True(t, b.Even(), "%v: missing %.5q, unknown %.5q, changed %.5q", b, b.Missing, b.Unknown, b.Changed)
	return b
}

func queueIn(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "queue")
}
