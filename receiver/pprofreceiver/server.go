// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// server accepts profiles over HTTP. server_lifecycle.go starts and stops it, server_handler.go handles requests, and api.go lists the APIs.
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
