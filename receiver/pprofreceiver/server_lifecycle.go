// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/connections"
)

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
		cfg:       cfg,
		set:       set.TelemetrySettings,
		intake:    in,
		obs:       obs,
		limiter:   newRequestLimiter(cfg.MaxConcurrentRequests, cfg.MaxConcurrentRequestsPerTenant, concurrencyWait),
		headers:   headerAttributes(cfg.ResourceHeaders),
		encodings: allowedEncodings(cfg.HTTP.CompressionAlgorithms),
		pprof:     in.formats.Pprof(cfg.LegacyFormats, ", which server.legacy_formats: true allows"),
		byPath:    map[string]*api{},
		unknown:   &api{name: nameUnknown, metrics: newAPIMetrics(in.metrics, nameUnknown), fail: failUnknown},
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
	connections.New(s.cfg.MaxConnections, func() { s.intake.metrics.ReceiverPprofClosedConnections.Add(s.stopping, 1) }).Apply(server)
	server.Handler = connections.WithDeadline(s.stopping, 0, server.Handler) //nolint:contextcheck // requests outlive the start of the server
	// gRPC uses the same port, also HTTP/2 without TLS.
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := s.cfg.HTTP.ToListener(ctx)
	if err != nil {
		return err
	}
	s.http, s.address = server, listener.Addr()
	s.set.Logger.Info("Listening for profiles", zap.Stringer("endpoint", s.address), zap.Strings("paths", slices.Sorted(maps.Keys(s.byPath))))
	s.serving.Go(func() { s.serve(listener, host) })
	return nil
}

func (s *server) serve(listener net.Listener, host component.Host) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
	}
}

// Shutdown stops listening and waits for the requests in progress. Requests that are still arriving have shutdownGrace to
// arrive. When ctx ends, all connections are closed.
func (s *server) Shutdown(ctx context.Context) error {
	s.stop()
	if s.http == nil {
		return nil
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.serving.Wait()
	return err
}
