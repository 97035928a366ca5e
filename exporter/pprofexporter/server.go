// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// expiryInterval is how often old profiles are looked for.
const expiryInterval = 10 * time.Second

// serverDestination holds the most recent profiles and serves them.
type serverDestination struct {
	cfg       *ServerConfig
	settings  component.TelemetrySettings
	encoder   *pprof.Encoder
	telemetry *telemetry
	store     *recent.Store
	pages     *pages
	// foreign says that pprofs may be such as others wrote.
	foreign bool

	http    *http.Server
	address net.Addr
	running sync.WaitGroup
	stop    context.CancelFunc
}

func newServerDestination(set exporter.Settings, cfg *Config) (*serverDestination, error) {
	server := cfg.Server.Get()
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	store := recent.New(recent.Limits{
		Memory:    server.MaxMemory,
		Age:       server.MaxAge,
		PerSeries: server.MaxProfilesPerSeries,
	}, telemetry.evicted)
	return &serverDestination{
		cfg:       server,
		settings:  set.TelemetrySettings,
		encoder:   pprof.NewEncoder(cfg.encodeOptions()),
		telemetry: telemetry,
		store:     store,
		pages:     newPages(server, store),
		foreign:   cfg.PreferOriginalPayload,
	}, nil
}

// start listens. Requests are served from then on.
func (d *serverDestination) start(ctx context.Context, host component.Host) error { //nolint:contextcheck // what it starts outlives it
	server, err := d.cfg.HTTP.ToServer(ctx, host.GetExtensions(), d.settings, d.pages.handler())
	if err != nil {
		return fmt.Errorf("cannot make the HTTP server: %w", err)
	}
	listener, err := d.cfg.HTTP.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("cannot listen at %s: %w", d.cfg.HTTP.NetAddr.Endpoint, err)
	}
	if err := d.telemetry.keeps(d.store); err != nil {
		return errors.Join(err, listener.Close())
	}
	d.http, d.address = server, listener.Addr()
	d.settings.Logger.Info("Profiles can be looked at.", zap.String("url", "http://"+d.address.String()+d.cfg.PathPrefix+"/"))
	expiring, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.running.Go(func() { d.expire(expiring) })
	d.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// expire evicts what is too old, also while nothing comes.
func (d *serverDestination) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.store.Expire()
		}
	}
}

func (d *serverDestination) shutdown(ctx context.Context) error {
	d.telemetry.builder.Shutdown()
	if d.http == nil {
		return nil
	}
	d.stop()
	err := d.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, d.http.Close())
	}
	d.running.Wait()
	return err
}

func (d *serverDestination) consume(ctx context.Context, pd pprofile.Profiles) error {
	tenant := d.cfg.Tenant.Default
	if d.cfg.Tenant.MetadataKey != "" {
		if values := client.FromContext(ctx).Metadata.Get(d.cfg.Tenant.MetadataKey); len(values) > 0 && values[0] != "" {
			tenant = values[0]
		}
	}
	// Nothing here waits, and a repetition would hold profiles twice: a request that was begun is done to its end.
	ctx = context.WithoutCancel(ctx)
	refusals, err := deliver(ctx, pd, d.encoder.All(pd), func(payload pprof.Payload) error {
		return d.hold(ctx, payload, tenant)
	})
	for _, r := range refusals {
		d.telemetry.refused(ctx, r)
	}
	return err
}

// hold takes one pprof into the store. What alone is larger than the store, or than what a request may merge, is lost.
func (d *serverDestination) hold(ctx context.Context, payload pprof.Payload, tenant string) error {
	if size := int64(len(payload.Pprof)); size > d.cfg.MaxRequestSize {
		return &refusal{
			reason: refusedTooLarge, profiles: payload.Profiles,
			err: fmt.Errorf("cannot hold a profile of %d bytes, max_request_size is %d", size, d.cfg.MaxRequestSize),
		}
	}
	e, err := entryOf(&payload, tenant, time.Now())
	if err == nil && d.foreign {
		err = pprofmerge.Check(payload.Pprof)
	}
	if err != nil {
		return &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	if !d.store.Add(e) {
		return &refusal{
			reason: refusedTooLarge, profiles: payload.Profiles,
			err: fmt.Errorf("cannot hold a profile of %d compressed bytes, max_memory is %d", len(e.Compressed), d.cfg.MaxMemory),
		}
	}
	d.telemetry.kept(ctx, payload)
	return nil
}
