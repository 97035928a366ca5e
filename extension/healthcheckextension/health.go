// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package healthcheckextension

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// listener is the server of both kinds of the extension.
type listener struct {
	set    component.TelemetrySettings
	config *confighttp.ServerConfig
	server *connections.Server
}

func (l *listener) serve(ctx context.Context, host component.Host, handler http.Handler) (err error) {
	l.server, err = connections.Serve(ctx, host, l.set, l.config, handler)
	return err
}

// statusWatcher is contrib's extension that follows the status of components.
type statusWatcher interface {
	extension.Extension
	extensioncapabilities.PipelineWatcher
	extensioncapabilities.ConfigSnapshotWatcher
	extensioncapabilities.ComponentStatusWatcher
}

// statusHealth serves what contrib's extension would serve.
type statusHealth struct {
	statusWatcher
	listener
}

// Start starts contrib's extension and the server, if the configuration has one.
func (s *statusHealth) Start(ctx context.Context, host component.Host) error {
	handler, err := connections.Capture(host, func(host component.Host) error { return s.statusWatcher.Start(ctx, host) })
	if err != nil || handler == nil {
		return err
	}
	return s.serve(ctx, host, handler)
}

// Shutdown stops the server and contrib's extension.
func (s *statusHealth) Shutdown(ctx context.Context) error {
	return errors.Join(s.server.Close(), s.statusWatcher.Shutdown(ctx))
}

// pipelineHealth tells whether the pipelines run. Contrib's extension for this gives no middleware its handler.
type pipelineHealth struct {
	listener
	path string
	body *healthcheckextension.ResponseBodySettings
	// since is when the pipelines started, or nil if they do not run.
	since atomic.Pointer[time.Time]
}

var _ extensioncapabilities.PipelineWatcher = (*pipelineHealth)(nil)

// Start starts the server.
func (p *pipelineHealth) Start(ctx context.Context, host component.Host) error {
	mux := http.NewServeMux()
	mux.HandleFunc(p.path, p.answer)
	return p.serve(ctx, host, mux)
}

// Shutdown stops the server.
func (p *pipelineHealth) Shutdown(context.Context) error { return p.server.Close() }

// Ready is called when the pipelines run.
func (p *pipelineHealth) Ready() error {
	now := time.Now()
	p.since.Store(&now)
	return nil
}

// NotReady is called before the pipelines stop.
func (p *pipelineHealth) NotReady() error {
	p.since.Store(nil)
	return nil
}

// health is the default answer, the same as that of contrib.
type health struct {
	Status  string    `json:"status"`
	UpSince time.Time `json:"upSince"`
	Uptime  string    `json:"uptime"`
}

func (p *pipelineHealth) answer(w http.ResponseWriter, _ *http.Request) {
	code, h := http.StatusServiceUnavailable, health{Status: "Server not available"}
	if since := p.since.Load(); since != nil {
		code, h = http.StatusOK, health{Status: "Server available", UpSince: *since, Uptime: time.Since(*since).String()}
	}
	if p.body == nil {
		text, _ := json.Marshal(h) // It always succeeds.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		w.Write(text)
		return
	}
	w.WriteHeader(code)
	if code == http.StatusOK {
		w.Write([]byte(p.body.Healthy))
	} else {
		w.Write([]byte(p.body.Unhealthy))
	}
}
