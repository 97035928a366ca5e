// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/format"
)

// server accepts profiles over HTTP. server_lifecycle.go starts and stops it, server_handler.go handles requests, and server_apis.go
// lists the APIs.
type server struct {
	cfg     *ServerConfig
	set     component.TelemetrySettings
	intake  *intake
	obs     *receiverhelper.ObsReport
	limiter *requestLimiter
	headers []headerAttribute
	// encodings are the allowed values of Content-Encoding.
	encodings map[string]bool
	// pprof is the format of the payloads.
	pprof  format.Format
	byPath map[string]*api
	// unknown answers requests to unknown paths.
	unknown *api

	http    *http.Server
	address net.Addr
	serving sync.WaitGroup
	// stopping ends when Shutdown is called.
	stopping context.Context
	stop     context.CancelFunc
}
