// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"
	"golang.org/x/net/http/httpguts"

	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// HTTPConfig configures the destination http, which sends each pprof to a backend.
type HTTPConfig struct {
	// Client has the Collector's common options of HTTP clients: endpoint, TLS, authentication, headers, compression.
	Client confighttp.ClientConfig `mapstructure:",squash"`
	// Format is the form of the requests: raw, pyroscope, pyroscope_push or parca (default: raw).
	Format string `mapstructure:"format" words:"raw pyroscope pyroscope_push parca"`
	// CompressionLevel is the level of gzip for each pprof, from 1 (fastest) to 9 (smallest) (default: 1).
	CompressionLevel int `mapstructure:"compression_level"`
	// Query has the query parameters of a raw request. Values can have placeholders such as {service.name}
	// (default: service.name={service.name}).
	Query map[string]string `mapstructure:"query"`
	// QueryResource adds each attribute of the resource to a raw request, as the parameter resource.<key> (default: false).
	QueryResource bool `mapstructure:"query_resource"`
	// ResourceHeaders are headers of each request. Values can have placeholders. A request has only pprofs with the same headers.
	ResourceHeaders map[string]string `mapstructure:"resource_headers"`
	// Labels configures which attributes of a resource become labels in the formats of Pyroscope and Parca.
	Labels LabelsConfig `mapstructure:"labels"`
	// Tenant configures the header that names the tenant.
	Tenant options.TenantConfig `mapstructure:"tenant"`
	// MaxSeriesPerRequest is the maximum number of pprofs in a request of pyroscope_push or parca (default: 64).
	MaxSeriesPerRequest int `mapstructure:"max_series_per_request"`
	// MaxRequestBytes is the size at which the exporter sends a request of pyroscope_push or parca. The last pprof of a request
	// can exceed it (default: 16777216).
	MaxRequestBytes int `mapstructure:"max_request_bytes" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LabelsConfig limits and orders the labels of a series.
type LabelsConfig struct {
	// Max is the maximum number of labels of a series. The labels of its service, type and profiler do not count (default: 25).
	Max int `mapstructure:"max"`
	// First has the keys of the attributes that become labels first. The other attributes follow in the order of their keys.
	First []string `mapstructure:"first"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// The words of format: the form of the HTTP requests.
const (
	// FormatRaw sends each gzipped pprof as the body of one request.
	FormatRaw = "raw"
	// FormatPyroscope sends each pprof to Pyroscope's /ingest, with its labels and the configuration of its sample types.
	FormatPyroscope = "pyroscope"
	// FormatPyroscopePush sends several pprofs in one request to Pyroscope's push.v1.PusherService/Push.
	FormatPyroscopePush = "pyroscope_push"
	// FormatParca sends several pprofs in one request to Parca's WriteRaw, as JSON.
	FormatParca = "parca"
)

var (
	_ confmap.Validator   = (*HTTPConfig)(nil)
	_ confmap.Unmarshaler = (*HTTPConfig)(nil)
)

func newDefaultHTTPConfig() HTTPConfig {
	return HTTPConfig{
		Client:              confighttp.NewDefaultClientConfig(),
		Format:              FormatRaw,
		CompressionLevel:    1,
		Query:               map[string]string{"service.name": "{service.name}"},
		Labels:              LabelsConfig{Max: 25},
		Tenant:              options.NewDefaultTenantConfig(),
		MaxSeriesPerRequest: 64,
		MaxRequestBytes:     16 << 20,
	}
}

// Unmarshal reads the section. A configured query replaces the default one.
func (c *HTTPConfig) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("query") {
		c.Query = nil
	}
	return conf.Unmarshal(c)
}

// Validate returns all errors in the section.
func (c *HTTPConfig) Validate() error {
	var errs []error
	if c.Client.Endpoint == "" {
		errs = append(errs, errors.New("endpoint must be set"))
	} else if _, err := parseEndpoint(c); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs,
		configcheck.Between("compression_level", c.CompressionLevel, 1, 9),
		configcheck.NotNegative("labels::max", c.Labels.Max),
		configcheck.Positive("max_series_per_request", c.MaxSeriesPerRequest),
		configcheck.Positive("max_request_bytes", c.MaxRequestBytes),
	)
	if c.Tenant.Header == "" && (c.Tenant.MetadataKey != "" || c.Tenant.Default != "") {
		errs = append(errs, errors.New("tenant::header must not be empty"))
	}
	if c.Tenant.Header != "" {
		errs = append(errs, checkHeader("tenant::header", c.Tenant.Header))
	}
	for _, name := range slices.Sorted(maps.Keys(c.ResourceHeaders)) {
		errs = append(errs, checkHeader("resource_headers", name))
	}
	for name, templates := range map[string]map[string]string{"query": c.Query, "resource_headers": c.ResourceHeaders} {
		for _, key := range slices.Sorted(maps.Keys(templates)) {
			if _, err := placeholder.Parse(templates[key]); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", name, key, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkHeader returns an error if each request with this header would fail.
func checkHeader(option, name string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("%s: %q is not the name of a header", option, name)
	}
	return nil
}

// parseEndpoint reads the endpoint. Placeholders are allowed in the path only, and only with the format raw. A placeholder in the
// host would let a sender choose where the profiles go.
func parseEndpoint(c *HTTPConfig) (*url.URL, error) {
	endpoint, err := url.Parse(c.Client.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("cannot read the endpoint: %w", err)
	}
	if endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, fmt.Errorf("endpoint must be http://host or https://host, with or without a path, not %q", c.Client.Endpoint)
	}
	template, err := placeholder.Parse(endpoint.Path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("endpoint: %w", err)
	case template.HasPlaceholders() && c.Format != FormatRaw:
		return nil, fmt.Errorf("endpoint must not have placeholders with the format %s", c.Format)
	}
	if _, err := http.NewRequest(http.MethodPost, c.Client.Endpoint, http.NoBody); err != nil { //nolint:noctx // never sent
		return nil, fmt.Errorf("cannot read the endpoint: %w", err)
	}
	return endpoint, nil
}
