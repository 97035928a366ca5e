// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak runs the distribution under load and faults, and then checks the result of every upload: it has arrived
// unchanged, or was refused with a reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/tools/load"
)

// options are the options of the command line.
type options struct {
	binary   string
	root     string
	report   string
	duration time.Duration
	senders  int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "_build/full/otelcol-pprof", "the distribution")
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.report, "report", "", "a file; the part between the marks of this command is replaced")
	flag.DurationVar(&o.duration, "duration", 15*time.Minute, "how long uploads are sent")
	flag.IntVar(&o.senders, "senders", 4, "how many uploads are sent at a time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, &o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

const (
	// memoryMiB is the limit of the memory limiter, goMemoryMiB that of the Go runtime, as in docs/operations.md.
	memoryMiB   = 400
	goMemoryMiB = memoryMiB * 80 / 75
	// settling is the time without arrivals after which queued profiles count as lost.
	settling = 5 * time.Minute
)

// run is a gateway between load and destination, with faults.
type run struct {
	gateway     *load.Gateway
	running     *gateway.Gateway
	destination *otlpsink.Sink
	account     *profiletest.Account
	// peak is the highest resident memory of all processes, and anonymous the highest part of it that is not mapped from
	// files, as sampled by watch.
	peak      int64
	anonymous atomic.Int64
	watching  sync.WaitGroup
	// cpu is the CPU time of all processes.
	cpu time.Duration
	// lives are the processes that have ended. The current one began at begin.
	lives []life
	begin time.Time
	// ctx ends the gateway.
	ctx context.Context //nolint:containedctx // a gateway outlives the faults that start it
}

func soak(ctx context.Context, o *options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{account: profiletest.NewAccount(), ctx: ctx}
	directory, err := os.MkdirTemp("", "soak")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the queue: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	if r.destination, err = otlpsink.Start(ctx, "127.0.0.1:0", r.arrived); err != nil {
		return err
	}
	defer r.destination.Stop()
	r.gateway, err = load.NewGateway(ctx, load.GatewayOptions{
		Binary: o.binary, Destination: r.destination.Address(), Queue: filepath.Join(directory, "queue"), MemoryMiB: memoryMiB,
		Environment: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", goMemoryMiB)},
	})
	if err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	defer func() {
		r.running.Kill()
		r.watching.Wait()
	}()
	return r.work(ctx, o)
}

func (r *run) start() error {
	r.begin = time.Now()
	running, err := r.gateway.Start(r.ctx)
	if err != nil {
		return err
	}
	r.running = running
	r.watching.Go(func() { r.watch(running) })
	return nil
}

// watch samples the memory of a process until it ends.
func (r *run) watch(running *gateway.Gateway) {
	for ; running.Running(); time.Sleep(50 * time.Millisecond) {
		if process, err := running.Process(); err == nil && process.Anonymous > r.anonymous.Load() {
			r.anonymous.Store(process.Anonymous) // Only one process runs at a time.
		}
	}
}

func (r *run) arrived(_ context.Context, pd pprofile.Profiles) error {
	r.account.Arrived(pd)
	return nil
}

// observe stores memory, CPU time and refusals of a process that is about to end.
func (r *run) observe(ctx context.Context) error {
	process, err := r.running.Process()
	if err != nil {
		return err
	}
	r.peak = max(r.peak, process.Peak)
	r.cpu += process.CPU
	l := life{begin: r.begin, asked: time.Now()}
	if l.counts, err = askRefusals(ctx, r.gateway.Metrics); err != nil {
		return err
	}
	l.answered = time.Now()
	r.lives = append(r.lives, l)
	return nil
}

// work runs load and faults, and then checks all uploads.
func (r *run) work(ctx context.Context, o *options) error {
	begin := time.Now()
	uploads, err := load.NewUploads(o.root)
	if err != nil {
		return err
	}
	// The faults end before the load, so that the load can finish.
	causing, stop := context.WithTimeout(ctx, o.duration)
	defer stop()
	faults := r.faults()
	ended := make(chan error, 1)
	go func() { ended <- r.causeFaults(causing, faults, max(4*time.Second, o.duration/60)) }()
	outcomes, err := makeLoad(ctx, o, uploads, r.gateway.Targets)
	if err := errors.Join(err, <-ended); err != nil {
		return fmt.Errorf("%w; the end of the log of the gateway:\n%s", err, tail(r.running.Log()))
	}
	result := result{options: o, outcomes: outcomes, faults: faults, took: time.Since(begin)}
	if err := r.balance(ctx, uploads, &result); err != nil {
		return err
	}
	begin = time.Now()
	if err := r.running.Stop(30 * time.Second); err != nil {
		return err
	}
	result.shutdown, result.cpu = time.Since(begin), r.cpu
	result.peak, result.anonymous = r.peak, r.anonymous.Load()
	return result.write()
}

// balance waits for all accepted profiles, and compares them.
func (r *run) balance(ctx context.Context, uploads *load.Uploads, result *result) error {
	for i := range result.outcomes {
		outcome := &result.outcomes[i]
		if err := load.Check(outcome); err != nil {
			result.wrong = append(result.wrong, err.Error())
		}
		profiles, err := uploads.Profiles(outcome.Number)
		if err != nil {
			return err
		}
		r.account.Sent(otlpsink.Delivered(profiles...)...)
	}
	missing := math.MaxInt
	for end := time.Now(); ctx.Err() == nil; time.Sleep(time.Second) {
		result.balance = r.account.Balance()
		if now := len(result.balance.Missing); now < missing {
			missing, end = now, time.Now().Add(settling)
		}
		if missing == 0 || time.Now().After(end) {
			break
		}
	}
	if err := r.observe(ctx); err != nil {
		return err
	}
	result.refusals, result.incorrect = compareRefusals(r.lives, result.outcomes)
	return nil
}

// tail returns the end of a text.
func tail(text string) string { return text[max(0, len(text)-5000):] }
