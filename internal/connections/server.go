// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// maxConnections is how many connections a server of [Serve] has.
const maxConnections = 1000

// Server is a server that serves.
type Server struct {
	// Address is where it listens.
	Address net.Addr
	http    *http.Server
	serving sync.WaitGroup
}

// Serve listens and serves as a component of Collector core does with the same configuration, within the limits of this package.
func Serve(ctx context.Context, host component.Host, set component.TelemetrySettings, config *confighttp.ServerConfig, handler http.Handler, options ...confighttp.ToServerOption) (*Server, error) {
	server, err := config.ToServer(ctx, host.GetExtensions(), set, handler, options...)
	if err != nil {
		return nil, err
	}
	return serve(ctx, host, set, config, server)
}

// ServeGRPC is [Serve] for a handler of gRPC also.
func ServeGRPC(ctx context.Context, host component.Host, set component.TelemetrySettings, config *confighttp.ServerConfig, handler http.Handler) (*Server, error) {
	server, err := config.ToServer(ctx, host.GetExtensions(), set, handler)
	if err != nil {
		return nil, err
	}
	AllowGRPC(server)
	return serve(ctx, host, set, config, server)
}

func serve(ctx context.Context, host component.Host, set component.TelemetrySettings, config *confighttp.ServerConfig, server *http.Server) (*Server, error) {
	budget, err := memory.Of(host)
	if err != nil {
		return nil, err
	}
	Limit(server, maxConnections, func() {
		set.Logger.Debug("Closed a connection without a request in progress, since others had to be accepted")
	}, budget.EndStalled)
	s, err := Start(ctx, host, config, server)
	if err != nil {
		return nil, err
	}
	set.Logger.Info("Starting HTTP server", zap.Stringer("endpoint", s.Address))
	return s, nil
}

// AllowGRPC lets a server accept gRPC on the same port, also without TLS.
func AllowGRPC(server *http.Server) {
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
}

// Start listens where config says, and serves.
func Start(ctx context.Context, host component.Host, config *confighttp.ServerConfig, server *http.Server) (*Server, error) {
	listener, err := config.ToListener(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: listener.Addr(), http: server}
	s.serving.Go(func() { s.serve(listener, host) })
	return s, nil
}

// serve serves until a shutdown. It reports any other end as the status of the component.
func (s *Server) serve(listener net.Listener, host component.Host) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
	}
}

// Shutdown stops listening and waits for the requests in progress. When ctx ends, it ends all connections. A server that does not exist
// has none.
func (s *Server) Shutdown(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.serving.Wait()
	return err
}

// Close ends all connections. A server that does not exist has none.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.http.Close()
	s.serving.Wait()
	return err
}

const (
	// MaxHeaderBytes is how large the header of a request may be. Tokens of identity providers have up to 8 KiB.
	MaxHeaderBytes = 16 << 10
	// headerSlack is what net/http accepts above the limit that it is given.
	headerSlack = 4 << 10
	// MaxFields is how many fields a header may have. A header of MaxHeaderBytes with this many takes less than 40 KiB.
	MaxFields = 128
)

// CheckFields returns an error if a header has too many fields.
func CheckFields(header map[string][]string) error {
	fields := 0
	for _, values := range header {
		fields += len(values)
	}
	if fields > MaxFields {
		return fmt.Errorf("the header has %d fields, the limit is %d", fields, MaxFields)
	}
	return nil
}

// limitFields returns a handler that refuses requests with too many fields in the header, and forgets the header at once.
func limitFields(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := CheckFields(r.Header)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		r.Header = nil
		w.Header().Set("Connection", "close")
		// Without support for deadlines, the timeout of the server ends the request.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
		http.Error(w, err.Error(), http.StatusRequestHeaderFieldsTooLarge)
	})
}
