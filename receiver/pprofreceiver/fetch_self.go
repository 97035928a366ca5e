// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
)

// self profiles the Collector itself.
type self struct {
	*collector
	cfg *SelfConfig
	// restoreRates is nil before the start.
	restoreRates func()
}

func newSelf(set receiver.Settings, cfg *SelfConfig, in *intake) (*self, error) {
	c, err := newCollector(set, in, nameSelf, "self")
	if err != nil {
		return nil, err
	}
	return &self{collector: c, cfg: cfg}, c.metrics.observe(&c.remembered)
}

// Start sets the profiling rates of the process and starts the schedules.
func (s *self) Start(_ context.Context, host component.Host) error {
	s.restoreRates = s.setRates()
	s.begin(host)
	for _, name := range s.cfg.Profiles {
		if name == profileMutex && s.cfg.MutexProfileFraction <= 0 || name == profileBlock && s.cfg.BlockProfileFraction <= 0 {
			continue
		}
		s.repeat(name, s.cfg.Schedule, 0, func(ctx context.Context, differences *tracker) (string, error) {
			return s.round(ctx, name, differences)
		})
	}
	return nil
}

// Shutdown stops the schedules and restores the profiling rates of the process.
func (s *self) Shutdown(ctx context.Context) error {
	err := s.shutdown(ctx)
	if s.restoreRates != nil {
		s.restoreRates()
	}
	return err
}

// round captures one profile, and passes it on, or its difference from the previous one.
func (s *self) round(ctx context.Context, name string, differences *tracker) (outcome string, err error) {
	var profile bytes.Buffer
	if name == profileCPU {
		err = s.measureCPU(ctx, &profile)
	} else {
		err = pprof.Lookup(name).WriteTo(&profile, 0)
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := withTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	m, err := s.in.begin(ctx, int64(profile.Cap()), func() {})
	if err != nil {
		return "", err
	}
	defer m.arrival.Release()
	source := s.in.newSource()
	source.ProfileName = name
	// resource_attributes override the resource of the Collector.
	for key, value := range s.set.Resource.Attributes().All() {
		if _, set := source.Resource.Get(key); !set {
			value.CopyTo(source.Resource.PutEmpty(key))
		}
	}
	delta := DeltaOff
	if counts(name) {
		delta = s.cfg.Delta
	}
	return s.deliver(ctx, delta, differences, profile.Bytes(), source, m)
}

// measureCPU runs the CPU profiler for the configured duration, unless it is already running.
func (s *self) measureCPU(ctx context.Context, profile *bytes.Buffer) error {
	if err := pprof.StartCPUProfile(profile); err != nil {
		return newRefusal(profilerBusy, "%w", err)
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(s.cfg.CPUDuration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// setRates sets the rates of mutex and block profiles, which are those of the whole process. A rate of 0 or less leaves the current one. restore
// restores them once. The runtime does not report the rate of block profiles; it becomes 0.
func (s *self) setRates() (restore func()) {
	before := runtime.SetMutexProfileFraction(-1)
	if s.cfg.MutexProfileFraction > 0 {
		runtime.SetMutexProfileFraction(s.cfg.MutexProfileFraction)
	}
	if s.cfg.BlockProfileFraction > 0 {
		runtime.SetBlockProfileRate(s.cfg.BlockProfileFraction)
	}
	return sync.OnceFunc(func() {
		runtime.SetMutexProfileFraction(before)
		if s.cfg.BlockProfileFraction > 0 {
			runtime.SetBlockProfileRate(0)
		}
	})
}
