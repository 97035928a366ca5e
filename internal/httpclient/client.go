// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpclient makes the HTTP clients of receivers and exporters.
package httpclient // import "github.com/otelpprof/otelpprof/internal/httpclient"

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
	extensions := map[component.ID]component.Component{innermostID: &innermost{transport: &c.connections.Transport}}
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
type innermost struct {
	component.StartFunc
	component.ShutdownFunc
	transport *http.RoundTripper
}

var _ extensionmiddleware.HTTPClient = (*innermost)(nil)

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

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// standardPorts are the ports of URLs without a port.
var standardPorts = map[string]string{"http": "80", "https": "443"}

// sameHost is a http.Client.CheckRedirect that follows redirects to the same host and port only. The headers and
// authenticators of confighttp add their credentials to each request, also to redirected ones. A redirect from HTTP to TLS is
// followed on the standard ports, one from TLS to HTTP is not. A redirect that drops the body (301 to 303 of a POST) is not
// followed either: it leads to a page, such as a login, that answers 200 and discards the request. A redirect that is not
// followed is returned as the response.
func sameHost(next *http.Request, earlier []*http.Request) error {
	last := earlier[len(earlier)-1]
	if next.Method != last.Method || !stays(last.URL, next.URL) || len(earlier) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// stays reports whether both URLs have the same host and port, or to is the TLS server of the same host.
func stays(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return from.Scheme == "http" && port(from) == standardPorts["http"] && to.Scheme == "https" && port(to) == standardPorts["https"]
}

func port(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return standardPorts[u.Scheme]
}

// WithoutURL returns the error of a request without the URL, with which its text begins. A URL can have a secret.
func WithoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
