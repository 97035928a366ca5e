// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	limited "github.com/otelpprof/otelpprof/receiver/otlpreceiver"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver.
func NewFactory() xreceiver.Factory {
	return xreceiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xreceiver.WithProfiles(createProfiles, metadata.ProfilesStability),
		xreceiver.WithLogs(createLogs, metadata.LogsStability),
		xreceiver.WithTraces(createTraces, metadata.TracesStability),
		xreceiver.WithMetrics(createMetrics, metadata.MetricsStability),
	)
}

// createProfiles creates the receiver for the profiles pipeline: profiles of log records, and received OTLP profiles.
func createProfiles(ctx context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	next = resourcemetadata.Wrap(next, cfg.(*Config).MetadataFromResource)
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		i.converter.profiles = next
		if _, err := i.otlp.CreateProfiles(ctx, i.settings, i.config, next); err != nil {
			return nil, err
		}
		return i.otlp.CreateLogs(ctx, i.settings, i.config, i.converter)
	})
}

// createLogs creates the receiver for the logs pipeline: all records that are no profiling records.
func createLogs(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		i.converter.logs = next
		return i.otlp.CreateLogs(ctx, i.settings, i.config, i.converter)
	})
}

func createTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		return i.otlp.CreateTraces(ctx, i.settings, i.config, next)
	})
}

func createMetrics(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return newPart(cfg.(*Config), &set, func(i *instance) (component.Component, error) {
		return i.otlp.CreateMetrics(ctx, i.settings, i.config, next)
	})
}

// instance is shared by the receivers for all signals of one configuration. They also share one OTLP receiver: the first
// Start starts it, and the first Shutdown shuts it down.
type instance struct {
	otlp      xreceiver.Factory
	settings  receiver.Settings
	config    *otlpreceiver.Config
	converter *converter
}

func newInstance(cfg *Config, set *receiver.Settings) (*instance, error) {
	converter, err := newConverter(cfg, *set)
	if err != nil {
		return nil, err
	}
	i := &instance{
		otlp:      limited.NewFactory(),
		settings:  *set,
		config:    &otlpreceiver.Config{Protocols: cfg.Protocols},
		converter: converter,
	}
	// The OTLP receiver requires its own type. Its name is the id of this receiver: otlp/splunk_log_profile/name.
	i.settings.ID = component.NewIDWithName(i.otlp.Type(), set.ID.String())
	return i, nil
}

// instances are the instances in use. The Collector creates the receiver once for each signal, with the same
// configuration.
var (
	mu        sync.Mutex
	instances = map[*Config]*instance{}
)

// newPart returns the receiver for one signal of a configuration. create creates it with the OTLP receiver of the instance.
func newPart(cfg *Config, set *receiver.Settings, create func(*instance) (component.Component, error)) (*part, error) {
	mu.Lock()
	defer mu.Unlock()
	i, known := instances[cfg]
	if !known {
		var err error
		if i, err = newInstance(cfg, set); err != nil {
			return nil, err
		}
	}
	inner, err := create(i)
	if err != nil {
		return nil, err
	}
	instances[cfg] = i
	return &part{Component: inner, instance: i, config: cfg}, nil
}

// part is the receiver for one signal.
type part struct {
	component.Component
	instance *instance
	config   *Config
}

// Start starts the OTLP receiver, unless another part has started it.
func (p *part) Start(ctx context.Context, host component.Host) error {
	p.instance.converter.announce()
	if err := p.instance.converter.translator.Start(host); err != nil {
		return err
	}
	return p.Component.Start(ctx, host)
}

// Shutdown shuts down the OTLP receiver, unless another part has shut it down. Then the configuration can be used again.
func (p *part) Shutdown(ctx context.Context) error {
	mu.Lock()
	delete(instances, p.config)
	mu.Unlock()
	return p.Component.Shutdown(ctx)
}
