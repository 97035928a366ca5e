// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/relabel"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/extension/targetdiscoveryextension/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/discovery"
)

// settle is how long changes are collected before they are passed on: a list of pods comes one by one.
const settle = 100 * time.Millisecond

// targetDiscovery is the extension.
type targetDiscovery struct {
	cfg       *Config
	set       component.TelemetrySettings
	telemetry *metadata.TelemetryBuilder
	rules     []*relabel.Config
	sources   []*source
	host      component.Host

	cancel  context.CancelFunc
	stopped atomic.Bool
	running sync.WaitGroup
	changed chan struct{}
	counts  atomic.Pointer[counts]

	// mu also orders the calls of the subscribers.
	mu          sync.Mutex
	subscribers map[*func([]*discovery.Target)]struct{}
	targets     []*discovery.Target
	// passed are the targets by key.
	passed map[string]*discovery.Target

	statusMu sync.Mutex
}

// counts are the numbers of targets of the last update.
type counts struct {
	passed, dropped, invalid, overLimit int
	// firstInvalid is why the first invalid target is left out.
	firstInvalid error
}

var (
	_ extension.Extension = (*targetDiscovery)(nil)
	_ discovery.Provider  = (*targetDiscovery)(nil)
)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newTargetDiscovery(cfg.(*Config), set.TelemetrySettings)
}

func newTargetDiscovery(cfg *Config, set component.TelemetrySettings) (*targetDiscovery, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	rules, err := cfg.rules()
	if err != nil {
		return nil, err
	}
	d := &targetDiscovery{
		cfg: cfg, set: set, telemetry: telemetry, rules: rules,
		changed: make(chan struct{}, 1), subscribers: map[*func([]*discovery.Target)]struct{}{},
	}
	d.counts.Store(&counts{})
	mechanisms, err := cfg.mechanisms()
	if err != nil {
		return nil, err
	}
	for _, one := range mechanisms {
		d.sources = append(d.sources, &source{
			mechanism: one, owner: d, health: newHealth(d, one), registry: prometheus.NewRegistry(), groups: map[string]group{},
		})
	}
	return d, nil
}

// Start starts the discovery.
func (d *targetDiscovery) Start(ctx context.Context, host component.Host) error {
	d.host = host
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range d.sources {
		if err := one.start(ctx); err != nil {
			return fmt.Errorf("cannot start %s: %w", one.name, err)
		}
	}
	d.running.Go(func() { d.passOn(ctx) })
	return d.telemetry.RegisterExtensionTargetDiscoveryTargetsCallback(func(_ context.Context, o metric.Int64Observer) error {
		now := d.counts.Load()
		for state, count := range map[string]int{
			"passed_on": now.passed, "dropped": now.dropped, "invalid": now.invalid, "over_limit": now.overLimit,
		} {
			o.Observe(int64(count), metric.WithAttributes(attribute.String("state", state)))
		}
		return nil
	})
}

// Shutdown stops the discovery and waits for its end.
func (d *targetDiscovery) Shutdown(ctx context.Context) error {
	if d.cancel == nil {
		return nil
	}
	d.stopped.Store(true)
	d.cancel()
	ended := make(chan struct{})
	go func() {
		d.running.Wait()
		close(ended)
	}()
	d.telemetry.Shutdown()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Subscribe implements [discovery.Provider].
func (d *targetDiscovery) Subscribe(update func([]*discovery.Target)) (cancel func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subscribers[&update] = struct{}{}
	update(d.targets)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.subscribers, &update)
	}
}

// passOn passes the targets on after each change.
func (d *targetDiscovery) passOn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		select {
		case <-d.changed: // what came meanwhile is part of this update
		default:
		}
		d.update()
	}
}

// notify reports that a source has other targets.
func (d *targetDiscovery) notify() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// update joins the targets of all sources and passes them to the subscribers.
func (d *targetDiscovery) update() {
	now := &counts{}
	all := map[string]*discovery.Target{}
	for _, one := range d.sources {
		one.collect(all, now)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	passed := d.limit(all, now)
	now.passed = len(passed)
	d.logChanges(d.counts.Swap(now), now)
	d.passed = passed
	d.targets = d.targets[:0:0]
	for _, key := range slices.Sorted(maps.Keys(passed)) {
		d.targets = append(d.targets, passed[key])
	}
	for update := range d.subscribers {
		(*update)(d.targets)
	}
}

// limit returns at most max_targets: first those that were there before, so that a full list does not change all the time.
func (d *targetDiscovery) limit(all map[string]*discovery.Target, now *counts) map[string]*discovery.Target {
	passed := make(map[string]*discovery.Target, min(len(all), d.cfg.MaxTargets))
	for key, target := range d.passed {
		if now := all[key]; now != nil {
			passed[key] = target
			if now.Position != target.Position {
				passed[key] = now
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if len(passed) == d.cfg.MaxTargets {
			break
		}
		if passed[key] == nil {
			passed[key] = all[key]
		}
	}
	now.overLimit += len(all) - len(passed)
	return passed
}

// known returns the targets that were passed on, by key. The map does not change.
func (d *targetDiscovery) known() map[string]*discovery.Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// logChanges logs changes of the targets that are left out.
func (d *targetDiscovery) logChanges(before, now *counts) {
	log := d.set.Logger
	switch {
	case now.overLimit > 0 && before.overLimit == 0:
		log.Warn("More targets than max_targets: the others are not scraped",
			zap.Int("max_targets", d.cfg.MaxTargets), zap.Int("others", now.overLimit))
	case now.overLimit == 0 && before.overLimit > 0:
		log.Info("Not more targets than max_targets again", zap.Int("targets", now.passed))
	}
	if now.invalid > 0 && before.invalid == 0 {
		log.Warn("Some targets cannot be scraped", zap.Int("targets", now.invalid), zap.NamedError("first", now.firstInvalid))
	}
	if (now.overLimit > 0) != (before.overLimit > 0) || (now.invalid > 0) != (before.invalid > 0) {
		d.reportStatus()
	}
}

// reportStatus reports what is wrong: sources that fail, invalid targets, and too many of them.
func (d *targetDiscovery) reportStatus() {
	d.statusMu.Lock()
	defer d.statusMu.Unlock()
	var errs []error
	for _, one := range d.sources {
		if err := one.health.err(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
		}
	}
	now := d.counts.Load()
	if now.overLimit > 0 {
		errs = append(errs, fmt.Errorf("%d targets above max_targets, %d", now.overLimit, d.cfg.MaxTargets))
	}
	if now.invalid > 0 {
		errs = append(errs, fmt.Errorf("%d targets cannot be scraped, the first: %w", now.invalid, now.firstInvalid))
	}
	event := componentstatus.NewEvent(componentstatus.StatusOK)
	if err := errors.Join(errs...); err != nil {
		event = componentstatus.NewRecoverableErrorEvent(err)
	}
	componentstatus.ReportStatus(d.host, event)
}
