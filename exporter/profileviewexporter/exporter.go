// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/internal/pathname"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	// expiryInterval is the interval at which profiles older than max_age are evicted.
	expiryInterval = 10 * time.Second
	// shutdownWait is how long a shutdown waits for answers.
	shutdownWait = 3 * time.Second
	// bodyTime is how long the body of a request may take to arrive. Those of the API are small, and pages need none.
	bodyTime = 2 * time.Second
	// maxConnections limits the open connections of the server.
	maxConnections = 500
)

// viewExporter keeps the most recent profiles and serves them.
type viewExporter struct {
	cfg       *Config
	settings  component.TelemetrySettings
	encoder   *pprof.Encoder
	telemetry *telemetry
	store     *store.Store
	budget    *memory.Budget
	// files has a copy of the profiles in a directory, if one is configured, and template their names.
	files    *filestore.Store
	template *pathname.Template

	http    *http.Server
	running sync.WaitGroup
	stop    context.CancelFunc

	// hosts are the host names that requests may have. nil accepts every name.
	hosts map[string]bool
	// restored is closed when requests need not wait for the profiles of an earlier run any more.
	restored <-chan struct{}
	// working has one element for each request that works, and wait is how long a request waits for a place.
	working chan struct{}
	wait    time.Duration
	// requests has one element for each request in progress.
	requests chan struct{}
	// salt is random. It makes the ETags of each run of the process different.
	salt     [8]byte
	scrapers scrapers
}

func newViewExporter(set exporter.Settings, cfg *Config, telemetry *telemetry) *viewExporter {
	encoding := cfg.Encoding.EncodeOptions()
	encoding.AllLinkLabels = true // The samples are searched by them.
	restored := make(chan struct{})
	close(restored)
	v := &viewExporter{
		cfg:       cfg,
		settings:  set.TelemetrySettings,
		encoder:   pprof.NewEncoder(encoding),
		telemetry: telemetry,
		store:     store.New(store.Limits{Memory: cfg.MaxMemory, Age: cfg.MaxAge, PerSeries: cfg.MaxProfilesPerSeries}, telemetry.evicted),
		restored:  restored,
		working:   make(chan struct{}, cfg.MaxConcurrentRequests),
		wait:      concurrencyWait,
		requests:  make(chan struct{}, maxRequests),
	}
	_, _ = rand.Read(v.salt[:]) // never fails
	return v
}

// start starts the server, and restores the profiles in the directory.
func (v *viewExporter) start(ctx context.Context, host component.Host) (err error) {
	if v.budget, err = memory.Of(host); err != nil {
		return err
	}
	files, err := v.openDirectory(ctx)
	if err != nil {
		return err
	}
	server, err := v.cfg.HTTP.ToServer(ctx, host.GetExtensions(), v.settings, v.handler())
	if err != nil {
		return fmt.Errorf("cannot create the HTTP server: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	v.stop = stop
	metrics := v.telemetry.builder
	closed := func() { metrics.ExporterProfileViewClosedConnections.Add(running, 1, v.telemetry.Plain) }
	connections.Limit(server, maxConnections, closed, v.budget.EndStalled)
	server.Handler = connections.WithDeadline(running, bodyTime, server.Handler)
	server.HTTP2.MaxConcurrentStreams = maxStreams
	listener, err := v.cfg.HTTP.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", v.cfg.HTTP.NetAddr.Endpoint, err)
	}
	held := func() (profiles, bytes int64, known bool) {
		profiles, bytes = v.store.Held()
		return profiles, bytes, true
	}
	err = v.telemetry.Observe(held, metrics.RegisterExporterProfileViewServedProfilesCallback, metrics.RegisterExporterProfileViewServedBytesCallback)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	address := listener.Addr()
	v.http, v.hosts = server, allowedHosts(v.cfg, address)
	scheme := "http"
	if v.cfg.HTTP.TLS.HasValue() {
		scheme = "https"
	}
	v.settings.Logger.Info("Serving profiles", zap.String("url", scheme+"://"+address.String()+v.cfg.PathPrefix+"/"))
	if openToAll(v.cfg, address) {
		v.settings.Logger.Warn("Anyone who reaches this address can read the profiles: configure auth, or listen on localhost")
	}
	v.restore(running, files)
	server.BaseContext = func(net.Listener) context.Context { return running }
	v.running.Go(func() { v.expire(running) })
	v.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// expire evicts old profiles until ctx ends, even if no profile arrives.
func (v *viewExporter) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			v.store.Expire()
		}
	}
}

func (v *viewExporter) shutdown(ctx context.Context) error {
	defer v.telemetry.builder.Shutdown()
	var err error
	if v.http != nil {
		waiting, cancel := context.WithTimeout(ctx, shutdownWait)
		defer cancel()
		err = v.http.Shutdown(waiting)
		v.stop() // Requests end.
		if err != nil {
			err = v.http.Close()
		}
		v.running.Wait()
	}
	if v.files != nil {
		err = errors.Join(err, v.files.Close())
	}
	return err
}

// consume adds the profiles of a message to the store.
func (v *viewExporter) consume(ctx context.Context, pd pprofile.Profiles) error {
	if v.budget == nil {
		return errors.New("cannot accept profiles before the start")
	}
	// Storing a message waits for nothing but memory, so it goes on if the sender leaves: the sender would only send it again.
	m := &message{viewExporter: v, tenant: v.cfg.Tenant.Of(ctx)}
	if v.files != nil {
		m.paths = v.template.Paths(v.files.FoldsCase())
	}
	return delivery.Deliver(context.WithoutCancel(ctx), pd, v.encoder, v.telemetry.Telemetry, m.addPprof)
}

// message is the work on one message.
type message struct {
	*viewExporter
	tenant   string
	resource sharedResource
	paths    *pathname.Paths // nil without a directory
	// described is the length of the descriptions in the files so far.
	described int
}

// addPprof adds one pprof to the store, and to the directory. A pprof that is larger than max_memory is refused. The store drops profiles that
// it has, so that a retry counts none twice.
func (m *message) addPprof(ctx context.Context, payload *pprof.Payload, work *meter.Meter) error {
	p, err := m.add(payload, work)
	switch {
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, pprof.ErrTooLarge):
		return &delivery.Refusal{Reason: delivery.ReasonTooLarge, Err: err}
	case errors.Is(err, store.ErrInvalid), errors.Is(err, pprof.ErrMalformed):
		return &delivery.Refusal{Reason: delivery.ReasonInvalid, Err: err}
	case err != nil:
		return fmt.Errorf("cannot store a profile: %w", err)
	}
	if p != nil {
		work.Set(m.resource.memory) // The store has what it needs.
		m.write(ctx, payload, work)
	}
	m.telemetry.Wrote(ctx, payload.Profiles, payload.Samples, payload.Lost)
	return nil
}

// add adds one pprof to the store. The result is nil if the store has it already.
func (m *message) add(payload *pprof.Payload, work *meter.Meter) (*store.Profile, error) {
	if err := m.resource.use(m.tenant, payload, work); err != nil {
		return nil, err
	}
	u := store.Upload{
		Resource: m.resource.Resource, Type: payload.ProfileType, ID: payload.ProfileID,
		Duration: time.Duration(min(payload.DurationNano, math.MaxInt64)), Pprof: payload.Pprof,
	}
	if nanos := int64(payload.Time); nanos > 0 {
		u.Time = time.Unix(0, nanos)
	}
	return m.store.Add(u, work)
}

// sharedResource is what the pprofs of one resource share. It is made once: a resource can have very long attributes and very many pprofs.
type sharedResource struct {
	*store.Resource
	index int
	// memory is what was reserved to make the fields.
	memory int64
}

// use makes this the resource of a payload, unless it is already. work, which is that of the payload, counts its memory in both cases.
func (r *sharedResource) use(tenant string, payload *pprof.Payload, work *meter.Meter) error {
	if r.Resource != nil && r.index == payload.ResourceIndex {
		return work.Use(r.memory)
	}
	*r = sharedResource{}
	attributes := payload.Resource.Attributes()
	memory := store.ResourceMemory(attributes)
	if err := work.Use(memory); err != nil {
		return err
	}
	*r = sharedResource{Resource: store.NewResource(tenant, attributes), index: payload.ResourceIndex, memory: memory}
	return nil
}
