// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreceiver

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// otlpReceiver receives all signals of one configuration. It has a receiver of core for each protocol.
type otlpReceiver struct {
	set    receiver.Settings
	config *otlpreceiver.Config
	grpc   part
	http   part

	startHTTP sync.Once
	httpErr   error
	server    *connections.Server
	stop      sync.Once
	stopErr   error
}

// part is a receiver of core for one protocol, or nothing.
type part struct {
	config   *otlpreceiver.Config
	receiver component.Component
}

// receivers are those in use. The Collector creates one for each signal, with the same configuration.
var (
	mu        sync.Mutex
	receivers = map[*otlpreceiver.Config]*otlpReceiver{}
)

// create returns the receiver for a signal. createCore creates that of core, which is one for all signals, too.
func create(set receiver.Settings, cfg component.Config, createCore func(component.Config) (component.Component, error)) (*otlpReceiver, error) {
	mu.Lock()
	defer mu.Unlock()
	config := cfg.(*otlpreceiver.Config)
	r, known := receivers[config]
	if !known {
		r = newReceiver(set, config)
	}
	for _, p := range []*part{&r.grpc, &r.http} {
		if p.config == nil {
			continue
		}
		var err error
		if p.receiver, err = createCore(p.config); err != nil {
			return nil, err
		}
	}
	receivers[config] = r
	return r, nil
}

// readBufferTLS is how large the buffer is into which a connection of gRPC with TLS reads. It also has the buffer while it is idle. A read
// returns at most one record, which has 16 KiB: the default of 512 KiB is not faster.
const readBufferTLS = 32 << 10

// pingAfter and pingTimeout are when a connection of gRPC that sends nothing must answer, unless the configuration says something else.
// The timeout for the handshake can end the writer of a connection alone. Then only the ping closes it, and a shutdown waits for that. Both
// together, and the handshake, must fit into the 10 seconds of a reload.
const (
	pingAfter   = 4 * time.Second
	pingTimeout = 3 * time.Second
)

// withPings returns keepalive settings that end connections whose client does not answer.
func withPings(keepalive configoptional.Optional[configgrpc.KeepaliveServerConfig]) configoptional.Optional[configgrpc.KeepaliveServerConfig] {
	config := configgrpc.NewDefaultKeepaliveServerConfig()
	if keepalive.HasValue() {
		config = *keepalive.Get()
	}
	parameters := configgrpc.NewDefaultKeepaliveServerParameters()
	if config.ServerParameters.HasValue() {
		parameters = *config.ServerParameters.Get()
	}
	parameters.Time, parameters.Timeout = cmp.Or(parameters.Time, pingAfter), cmp.Or(parameters.Timeout, pingTimeout)
	config.ServerParameters = configoptional.Some(parameters)
	return configoptional.Some(config)
}

func newReceiver(set receiver.Settings, config *otlpreceiver.Config) *otlpReceiver {
	r := &otlpReceiver{set: set, config: config}
	if config.Protocols.GRPC.HasValue() {
		inner := *config.Protocols.GRPC.Get()
		if inner.TLS.HasValue() {
			inner.ReadBufferSize = min(inner.ReadBufferSize, readBufferTLS)
		}
		inner.Keepalive = withPings(inner.Keepalive)
		r.grpc.config = &otlpreceiver.Config{Protocols: otlpreceiver.Protocols{GRPC: configoptional.Some(inner)}}
	}
	if config.Protocols.HTTP.HasValue() {
		inner := *config.Protocols.HTTP.Get()
		inner.ServerConfig = connections.CapturedConfig()
		r.http.config = &otlpreceiver.Config{Protocols: otlpreceiver.Protocols{HTTP: configoptional.Some(inner)}}
	}
	return r
}

// Start starts the servers, unless they run.
func (r *otlpReceiver) Start(ctx context.Context, host component.Host) error {
	if r.grpc.receiver != nil {
		if err := r.grpc.receiver.Start(ctx, host); err != nil {
			return err
		}
	}
	if r.http.receiver == nil {
		return nil
	}
	r.startHTTP.Do(func() {
		if r.httpErr = r.serve(ctx, host); r.httpErr != nil {
			r.httpErr = errors.Join(r.httpErr, r.Shutdown(ctx))
		}
	})
	return r.httpErr
}

// serve serves the handler of core's receiver for HTTP.
func (r *otlpReceiver) serve(ctx context.Context, host component.Host) error {
	handler, err := connections.Capture(host, func(host component.Host) error { return r.http.receiver.Start(ctx, host) })
	if err != nil {
		return err
	}
	config := &r.config.Protocols.HTTP.Get().ServerConfig
	r.server, err = connections.Serve(ctx, host, r.set.TelemetrySettings, config, handler, confighttp.WithErrorHandler(refuse))
	return err
}

// refuse answers requests that are refused before core's handler gets them, as core does.
func refuse(w http.ResponseWriter, r *http.Request, text string, code int) {
	mediaType := otlpstatus.JSONType
	if named, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && named == otlpstatus.ProtoType {
		mediaType = named
	}
	grpcCode := codes.InvalidArgument
	if code == http.StatusUnauthorized {
		grpcCode = codes.Unauthenticated
	}
	otlpstatus.Write(w, mediaType, code, status.New(grpcCode, text))
}

// Shutdown stops the servers, unless they have stopped, and waits for the requests in progress.
func (r *otlpReceiver) Shutdown(ctx context.Context) error {
	r.stop.Do(func() {
		mu.Lock()
		delete(receivers, r.config)
		mu.Unlock()
		// Each server may wait for its clients, so they stop at the same time.
		var stopping sync.WaitGroup
		var errs [3]error
		stopping.Go(func() { errs[0] = r.server.Shutdown(ctx) })
		for i, p := range []part{r.http, r.grpc} {
			if p.receiver != nil {
				stopping.Go(func() { errs[i+1] = p.receiver.Shutdown(ctx) })
			}
		}
		stopping.Wait()
		r.stopErr = errors.Join(errs[:]...)
	})
	return r.stopErr
}
