// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"context"

	"go.opentelemetry.io/collector/client"
)

// TenantConfig says whom a profile belongs to.
type TenantConfig struct {
	// Header carries the tenant (default: X-Scope-OrgID).
	Header string `mapstructure:"header"`
	// MetadataKey is the client metadata that names the tenant (default: none).
	MetadataKey string `mapstructure:"metadata_key"`
	// Default is the tenant of requests without that metadata (default: none, no header is sent).
	Default string `mapstructure:"default"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// NewDefaultTenantConfig returns the defaults.
func NewDefaultTenantConfig() TenantConfig { return TenantConfig{Header: "X-Scope-OrgID"} }

// Of is whom the profiles of a message belong to.
func (c *TenantConfig) Of(ctx context.Context) string {
	if c.MetadataKey != "" {
		if values := client.FromContext(ctx).Metadata.Get(c.MetadataKey); len(values) > 0 && values[0] != "" {
			return values[0]
		}
	}
	return c.Default
}
