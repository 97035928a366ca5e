// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
)

// NewFactory returns the factory of the pprof receiver.
func NewFactory() xreceiver.Factory {
	return xreceiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xreceiver.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createProfiles(_ context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	return newReceiver(set, cfg.(*Config), next)
}

// pprofReceiver starts and stops the configured sections. Each of them is a component.
type pprofReceiver struct {
	intake   *intake
	sections []component.Component
}

func newReceiver(set receiver.Settings, cfg *Config, next xconsumer.Profiles) (*pprofReceiver, error) {
	in, err := newIntake(set, cfg, next)
	if err != nil {
		return nil, err
	}
	r := &pprofReceiver{intake: in}
	err = errors.Join(
		addSection(r, set, cfg.Server.Get(), newServer),
		addSection(r, set, cfg.Remote.Get(), newRemote),
		addSection(r, set, cfg.Scrape.Get(), newScrape),
		addSection(r, set, cfg.File.Get(), newFiles),
		addSection(r, set, cfg.Self.Get(), newSelf),
	)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// addSection adds the component of a section, if it is configured.
func addSection[C any, S component.Component](r *pprofReceiver, set receiver.Settings, cfg *C, create func(receiver.Settings, *C, *intake) (S, error)) error {
	if cfg == nil {
		return nil
	}
	added, err := create(set, cfg, r.intake)
	if err == nil {
		r.sections = append(r.sections, added)
	}
	return err
}

// Start starts the sections. If one fails, the others are shut down.
func (r *pprofReceiver) Start(ctx context.Context, host component.Host) error {
	var err error
	if r.intake.budget, err = memory.Of(host); err != nil {
		return err
	}
	for _, one := range r.sections {
		if err := one.Start(ctx, host); err != nil {
			return errors.Join(err, r.Shutdown(ctx))
		}
	}
	return nil
}

// Shutdown stops the sections, and waits for requests and fetches in progress until ctx ends. It can be called without
// Start, and more than once.
func (r *pprofReceiver) Shutdown(ctx context.Context) error {
	var errs []error
	for _, one := range r.sections {
		errs = append(errs, one.Shutdown(ctx))
	}
	r.intake.closed.Store(true)
	r.intake.metrics.Shutdown()
	return errors.Join(errs...)
}
