// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpclient makes the HTTP clients of receivers and exporters.
package httpclient // import "github.com/otelpprof/otelpprof/internal/httpclient"

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
)

// Client is a client that only follows redirects to the same host, see [sameHost]. The zero value has no connections.
type Client struct {
	*http.Client
	// connections is the client without what confighttp adds. The transport that measures requests hides it from
	// [http.Client.CloseIdleConnections].
	connections http.Client
}

// New returns the client of a configuration.
func New(ctx context.Context, cfg confighttp.ClientConfig, host component.Host, set component.TelemetrySettings) (c Client, err error) {
	extensions := map[component.ID]component.Component{innermostID: &innermost{&c.connections.Transport}}
	maps.Copy(extensions, host.GetExtensions())
	last := len(cfg.Middlewares)
	cfg.Middlewares = slices.Grow(slices.Clip(cfg.Middlewares), 1)[:last+1]
	cfg.Middlewares[last].ID = innermostID
	c.Client, err = cfg.ToClient(ctx, extensions, set)
	if err == nil {
		c.CheckRedirect = sameHost
	}
	return c, err
}

// Close closes the connections that are idle.
func (c *Client) Close() {
	if c.Client != nil {
		c.connections.CloseIdleConnections()
	}
}

var innermostID = component.NewIDWithName(component.MustNewType("otelpprof"), "innermost transport")

// maxHeader is the largest header of a response. The standard library reads 10 MiB, and nobody counts them.
const maxHeader = 64 << 10

// innermost is a middleware that notes the transport with the connections, and limits the headers of its responses.
type innermost struct{ transport *http.RoundTripper }

var _ extensionmiddleware.HTTPClient = (*innermost)(nil)

func (*innermost) Start(context.Context, component.Host) error { return nil }

func (*innermost) Shutdown(context.Context) error { return nil }

// GetHTTPRoundTripper returns the middleware.
func (i *innermost) GetHTTPRoundTripper(context.Context) (extensionmiddleware.WrapHTTPRoundTripperFunc, error) {
	return func(_ context.Context, transport http.RoundTripper) (http.RoundTripper, error) {
		*i.transport = transport
		if connections, ok := transport.(*http.Transport); ok {
			connections.MaxResponseHeaderBytes = maxHeader
		}
		return transport, nil
	}, nil
}
