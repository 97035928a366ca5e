// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package healthcheckextension is the extension health_check of Collector contrib, whose server for HTTP has limits of connections
// and headers.
//
// If confighttp gets an option max_header_bytes, and one for connections, configurations can set them for contrib's extension. Then
// this package can go.
package healthcheckextension // import "github.com/otelpprof/otelpprof/extension/healthcheckextension"

import (
	"context"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// contrib has the extension that this package changes.
var contrib = healthcheckextension.NewFactory()

// NewFactory returns the factory of the extension. Its configuration is that of contrib's.
func NewFactory() extension.Factory {
	return extension.NewFactory(contrib.Type(), contrib.CreateDefaultConfig, create, contrib.Stability())
}

// create returns an extension that follows the status of components, if the feature gate of contrib selects that, or one that follows
// the pipelines.
func create(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	config := cfg.(*healthcheckextension.Config)
	server, inner := &config.Config.ServerConfig, *config
	inner.Config.ServerConfig = connections.CapturedConfig()
	if config.Config.HTTPConfig != nil {
		http := *config.Config.HTTPConfig
		server, http.ServerConfig = &config.Config.HTTPConfig.ServerConfig, connections.CapturedConfig()
		inner.Config.HTTPConfig = &http
	}
	created, err := contrib.Create(ctx, set, &inner)
	if err != nil {
		return nil, err
	}
	listener := listener{set: set.TelemetrySettings, config: server}
	if following, ok := created.(statusWatcher); ok {
		return &statusHealth{statusWatcher: following, listener: listener}, nil
	}
	return &pipelineHealth{listener: listener, path: config.Config.Path, body: config.Config.ResponseBody}, nil
}
