// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

const (
	// concurrencyWait is how long a request above the limits of concurrent requests waits before it is refused.
	concurrencyWait = 5 * time.Second

	// retryAfter is after how many seconds a client should repeat a request that was refused for now.
	retryAfter = "5"
)

// The words of tenant_from: what identifies the tenant of a request.
const (
	// TenantFromHeader is the header X-Scope-OrgID. Clients can set it to any value.
	TenantFromHeader = "header"
	// TenantFromAuth is the client name from the authenticator.
	TenantFromAuth = "auth"
	// TenantFromAddress is the IP address of the client.
	TenantFromAddress = "address"
)

// ServerConfig configures the HTTP server.
type ServerConfig struct {
	// HTTP has the options of the Collector's HTTP servers: endpoint, TLS, authentication, CORS, timeouts and the size of
	// request bodies.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`

	// Path is the path of the API pprof.
	Path string `mapstructure:"path"`

	// APIs turns the push APIs on and off.
	APIs APIsConfig `mapstructure:"apis"`

	// MaxConnections is the number of connections at a time. Above it, the server closes one without a request.
	MaxConnections int `mapstructure:"max_connections"`

	// MaxConcurrentRequests is how many requests are processed at a time.
	MaxConcurrentRequests int `mapstructure:"max_concurrent_requests"`

	// MaxConcurrentRequestsPerTenant is how many of them can be of one tenant. 0 means no limit.
	MaxConcurrentRequestsPerTenant int `mapstructure:"max_concurrent_requests_per_tenant"`

	// TenantFrom determines what identifies the tenant of a request.
	TenantFrom string `mapstructure:"tenant_from" words:"header auth address"`

	// LegacyFormats accepts the text and binary formats, older than profile.proto, that google/pprof reads.
	LegacyFormats bool `mapstructure:"legacy_formats"`

	// ResourceHeaders maps names of request headers to the resource attributes that they set.
	ResourceHeaders map[string]string `mapstructure:"resource_headers"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*ServerConfig)(nil)

func defaultServerConfig() ServerConfig {
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = "localhost:4040"
	http.MaxRequestBodySize = 20 << 20
	http.ReadTimeout = 30 * time.Second
	http.ReadHeaderTimeout = 10 * time.Second
	// It starts after the header. It must be longer than ReadTimeout, or else a slow client never gets the answer.
	http.WriteTimeout = time.Minute
	return ServerConfig{
		HTTP:                  http,
		Path:                  "/v1/pprof",
		APIs:                  APIsConfig{Pprof: true, PyroscopeIngest: true, PyroscopePush: true, Datadog: true, Parca: true},
		MaxConnections:        1000,
		MaxConcurrentRequests: 64,
		TenantFrom:            TenantFromHeader,
	}
}

// Replaced has the options of earlier versions, and what to do instead.
func (*ServerConfig) Replaced() map[string]string {
	return map[string]string{
		"concurrency_wait":     fmt.Sprintf("remove it: a request above max_concurrent_requests waits for %s", concurrencyWait),
		"max_concurrent_bytes": "the extension memory_budget limits the memory of all requests",
		"retry_after":          "remove it: retryable refusals have Retry-After: " + retryAfter,
	}
}

// Validate checks the options that confighttp does not check.
func (cfg *ServerConfig) Validate() error {
	errs := []error{
		configcheck.ListenAddress(cfg.HTTP.NetAddr),
		configcheck.Bytes("max_request_body_size", cfg.HTTP.MaxRequestBodySize),
	}
	if !strings.HasPrefix(cfg.Path, "/") || path.Clean(cfg.Path) != cfg.Path || strings.ContainsAny(cfg.Path, "{} ") {
		errs = append(errs, fmt.Errorf("path must be a clean path without braces and blanks that begins with a slash, is %q", cfg.Path))
	}
	errs = append(errs,
		cfg.validateAPIs(),
		configcheck.Positive("max_connections", cfg.MaxConnections),
		configcheck.Positive("max_concurrent_requests", cfg.MaxConcurrentRequests),
		configcheck.NotNegative("max_concurrent_requests_per_tenant", cfg.MaxConcurrentRequestsPerTenant),
	)
	if cfg.MaxConcurrentRequestsPerTenant > max(0, cfg.MaxConcurrentRequests) {
		errs = append(errs, fmt.Errorf("max_concurrent_requests_per_tenant must not be above max_concurrent_requests, %d, is %d",
			cfg.MaxConcurrentRequests, cfg.MaxConcurrentRequestsPerTenant))
	}
	if cfg.TenantFrom == TenantFromAuth && !cfg.HTTP.Auth.HasValue() {
		errs = append(errs, fmt.Errorf("tenant_from %q needs auth", cfg.TenantFrom))
	}
	if write := cfg.HTTP.WriteTimeout; write > 0 && write < cfg.HTTP.ReadTimeout {
		errs = append(errs, fmt.Errorf("write_timeout must not be below read_timeout, %s, since it includes the time to read the body, is %s",
			cfg.HTTP.ReadTimeout, write))
	}
	for header, attribute := range cfg.ResourceHeaders {
		if header == "" || attribute == "" {
			errs = append(errs, fmt.Errorf("resource_headers: %q: %q needs a header and an attribute", header, attribute))
		}
	}
	return errors.Join(errs...)
}

// validateAPIs returns an error if no API is on, or if the path of pprof is that of another API.
func (cfg *ServerConfig) validateAPIs() error {
	on := cfg.APIs
	if on == (APIsConfig{}) {
		return errors.New("apis: no API is on")
	}
	for _, other := range []struct {
		on    bool
		paths []string
	}{{on.PyroscopeIngest, ingestPaths}, {on.PyroscopePush, pushPaths}, {on.Datadog, datadogPaths}, {on.Parca, parcaPaths}} {
		if on.Pprof && other.on && slices.Contains(other.paths, cfg.Path) {
			return fmt.Errorf("path %q is the path of another API", cfg.Path)
		}
	}
	return nil
}

// APIsConfig turns the push APIs of the server on and off.
type APIsConfig struct {
	// Pprof accepts one profile as the body, at the configured path.
	Pprof bool `mapstructure:"pprof"`
	// PyroscopeIngest is Pyroscope's older API: one profile, in a form or as the body, described by the query.
	PyroscopeIngest bool `mapstructure:"pyroscope_ingest"`
	// PyroscopePush is Pyroscope's newer API, push.v1, over Connect or gRPC.
	PyroscopePush bool `mapstructure:"pyroscope_push"`
	// Datadog is the API of the Datadog agent for profilers, and of Datadog for agents: a form with several profiles.
	Datadog bool `mapstructure:"datadog"`
	// Parca is Parca's WriteRaw, over gRPC or Connect, and as JSON at the path of Parca's gateway.
	Parca bool `mapstructure:"parca"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const parcaGatewayPath = "/api/profiles/writeraw"

// The paths of the APIs. That of pprof is configured.
var (
	ingestPaths  = []string{"/ingest", "/pyroscope/ingest"}
	pushPaths    = []string{"/push.v1.PusherService/Push"}
	datadogPaths = []string{"/profiling/v1/input", "/api/v2/profile"}
	parcaPaths   = []string{"/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", parcaGatewayPath}
)
