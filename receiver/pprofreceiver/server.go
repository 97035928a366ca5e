// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// server accepts profiles over HTTP. server_handler.go handles requests, and api.go lists the APIs.
type server struct {
	cfg     *ServerConfig
	set     component.TelemetrySettings
	intake  *intake
	obs     *receiverhelper.ObsReport
	limiter *requestLimiter
	// pprof is the format of the payloads.
	pprof  payloadFormat
	byPath map[string]*api
	// unknown answers requests to unknown paths.
	unknown *api
	// drains is the number of refused bodies that are being read.
	drains atomic.Int64

	// http is nil until the start.
	http *connections.Server
	// stopping ends when Shutdown is called.
	stopping context.Context
	stop     context.CancelFunc
}

func newServer(set receiver.Settings, cfg *ServerConfig, in *intake) (*server, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              "http",
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	s := &server{
		cfg:     cfg,
		set:     set.TelemetrySettings,
		intake:  in,
		obs:     obs,
		limiter: newRequestLimiter(cfg.MaxConcurrentRequests, cfg.MaxConcurrentRequestsPerTenant, concurrencyWait),
		pprof:   in.formats.pprof(cfg.LegacyFormats, ", which server.legacy_formats: true allows"),
		byPath:  map[string]*api{},
		unknown: &api{name: nameUnknown, metrics: newAPIMetrics(in.metrics, nameUnknown), fail: failUnknown},
	}
	for _, one := range s.newAPIs() {
		one.metrics = newAPIMetrics(in.metrics, one.name)
		for _, path := range one.paths {
			s.byPath[path] = one
		}
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Start starts listening and serving.
func (s *server) Start(ctx context.Context, host component.Host) error {
	config := s.cfg.HTTP
	config.CompressionAlgorithms = []string{} // decode counts the memory, confighttp would not.
	server, err := config.ToServer(ctx, host.GetExtensions(), s.set, s.handler(), confighttp.WithErrorHandler(s.refuseUnauthenticated))
	if err != nil {
		return err
	}
	closed := func() { s.intake.metrics.ReceiverPprofClosedConnections.Add(s.stopping, 1) }
	connections.Limit(server, s.cfg.MaxConnections, closed, s.intake.budget.EndStalled)
	server.Handler = connections.WithDeadline(s.stopping, 0, server.Handler) //nolint:contextcheck // requests outlive the start of the server
	connections.AllowGRPC(server)
	if s.http, err = connections.Start(ctx, host, &s.cfg.HTTP, server); err != nil {
		return err
	}
	s.set.Logger.Info("Listening for profiles", zap.Stringer("endpoint", s.http.Address), zap.Strings("paths", slices.Sorted(maps.Keys(s.byPath))))
	return nil
}

// Shutdown stops listening and waits for the requests in progress. Requests that are still arriving have [connections.ShutdownGrace] to
// arrive. When ctx ends, all connections are closed.
func (s *server) Shutdown(ctx context.Context) error {
	s.stop()
	return s.http.Shutdown(ctx)
}
