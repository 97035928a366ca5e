// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
)

// captureID is the extension that captures a handler.
var captureID = component.MustNewID("otelpprof_capture")

// errCaptured ends the start of a server whose handler is captured.
var errCaptured = errors.New("the handler is captured")

// CapturedConfig returns the configuration of a server for [Capture].
func CapturedConfig() confighttp.ServerConfig {
	return confighttp.ServerConfig{Middlewares: []configmiddleware.Config{{ID: captureID}}}
}

// Capture starts a component whose server is configured with [CapturedConfig], and returns the handler of this server, which does not
// listen. start must start the component with the host that it gets. The handler is nil if the component starts no server.
//
// This is needed as long as confighttp has no option for the size of headers: it creates a server, and calls middlewares with its
// handler, but gives no access to the server before it accepts connections.
func Capture(host component.Host, start func(component.Host) error) (http.Handler, error) {
	c := &capture{Host: host}
	if err := start(c); err != nil && !errors.Is(err, errCaptured) {
		return nil, err
	}
	return c.handler, nil
}

// capture is a host with an additional extension, and that extension.
type capture struct {
	component.Host
	component.StartFunc
	component.ShutdownFunc
	handler http.Handler
}

var (
	_ componentstatus.Reporter       = (*capture)(nil)
	_ extensionmiddleware.HTTPServer = (*capture)(nil)
)

// GetExtensions returns the extensions of the host and the capture.
func (c *capture) GetExtensions() map[component.ID]component.Component {
	all := maps.Clone(c.Host.GetExtensions())
	if all == nil {
		all = map[component.ID]component.Component{}
	}
	all[captureID] = c
	return all
}

// Report reports the status of the component.
func (c *capture) Report(event *componentstatus.Event) {
	componentstatus.ReportStatus(c.Host, event)
}

// GetHTTPHandler returns a middleware that captures the handler, and ends the start of the server.
func (c *capture) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, handler http.Handler) (http.Handler, error) {
		c.handler = handler
		return nil, errCaptured
	}, nil
}
