// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/otelpprof/otelpprof/extension/kubernetesaccessextension/internal/metadata"
)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newAccess(cfg.(*Config), set.TelemetrySettings)
}
