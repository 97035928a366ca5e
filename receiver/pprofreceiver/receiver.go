// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelpprof/otelpprof/internal/budget"
)

// pprofReceiver starts and stops the ways in that the configuration names.
type pprofReceiver struct {
	intake  *intake
	sources []component.Component
}

func newReceiver(set receiver.Settings, cfg *Config, next xconsumer.Profiles) (*pprofReceiver, error) {
	in, err := newIntake(set, cfg, next)
	if err != nil {
		return nil, err
	}
	r := &pprofReceiver{intake: in}
	err = errors.Join(
		addSource(r, set, cfg.Server.Get(), newServer),
		addSource(r, set, cfg.Remote.Get(), newRemote),
		addSource(r, set, cfg.Scrape.Get(), newScrape),
		addSource(r, set, cfg.File.Get(), newFiles),
		addSource(r, set, cfg.Self.Get(), newSelf),
	)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// addSource adds a way in, if it is configured.
func addSource[C any, S component.Component](r *pprofReceiver, set receiver.Settings, section *C, create func(receiver.Settings, *C, *intake) (S, error)) error {
	if section == nil {
		return nil
	}
	source, err := create(set, section, r.intake)
	if err == nil {
		r.sources = append(r.sources, source)
	}
	return err
}

// Start opens the ways in. If one cannot be opened, those before it are closed again.
func (r *pprofReceiver) Start(ctx context.Context, host component.Host) error {
	var err error
	if r.intake.budget, err = budget.Of(host); err != nil {
		return err
	}
	for _, source := range r.sources {
		if err := source.Start(ctx, host); err != nil {
			return errors.Join(err, r.Shutdown(ctx))
		}
	}
	return nil
}

// Shutdown closes the ways in and waits, as long as ctx allows, for what is on its way. It may be called without Start,
// and more than once.
func (r *pprofReceiver) Shutdown(ctx context.Context) error {
	var errs []error
	for _, source := range r.sources {
		errs = append(errs, source.Shutdown(ctx))
	}
	r.intake.close()
	return errors.Join(errs...)
}
