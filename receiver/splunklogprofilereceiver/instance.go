// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	limited "github.com/otelpprof/otelpprof/receiver/otlpreceiver"
)

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
