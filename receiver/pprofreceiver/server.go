// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"
)

// server takes profiles over HTTP. Its file is its life; handler.go is what happens to a request.
type server struct {
	cfg      *ServerConfig
	set      component.TelemetrySettings
	intake   *intake
	obs      *receiverhelper.ObsReport
	arriving *arrivals
	places   *places
	headers  []headerAttribute
	legacy   legacyFormats
	byPath   map[string]*api
	// unknown answers for paths that do not exist.
	unknown *api

	http    *http.Server
	address net.Addr
	serving sync.WaitGroup
	// stopping ends when Shutdown begins.
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
		cfg:      cfg,
		set:      set.TelemetrySettings,
		intake:   in,
		obs:      obs,
		places:   newPlaces(cfg.MaxConcurrentRequests, cfg.MaxConcurrentRequestsPerTenant, cfg.ConcurrencyWait),
		arriving: &arrivals{limit: math.MaxInt64, minRate: cfg.MinBodyRate},
		headers:  headerAttributes(cfg.ResourceHeaders),
		legacy:   legacyFormats{allowed: cfg.LegacyFormats, hint: ", which server.legacy_formats: true allows"},
		byPath:   map[string]*api{},
		unknown:  &api{way: wayUnknown, metrics: newWay(in.metrics, wayUnknown), fail: failUnknown},
	}
	for _, protocol := range s.newAPIs() {
		for _, path := range protocol.paths {
			s.byPath[path] = protocol
		}
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Start listens. Requests are served from then on.
func (s *server) Start(ctx context.Context, host component.Host) error {
	s.arriving.limit = s.intake.budget.Size() / 2
	options := append(s.decoders(), confighttp.WithErrorHandler(s.refuseEarly))
	server, err := s.cfg.HTTP.ToServer(ctx, host.GetExtensions(), s.set, s.handler(), options...)
	if err != nil {
		return err
	}
	// gRPC shares the port: HTTP/2 without TLS, too.
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

// Shutdown stops listening and waits for the requests that are being served; those still arriving have a moment to do
// so. When ctx ends first, all are cut off.
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
