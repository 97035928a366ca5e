// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"context"

	"go.opentelemetry.io/collector/client"
)

// TenantConfig configures the tenant of profiles.
type TenantConfig struct {
	// Header is the HTTP header with the tenant (default: X-Scope-OrgID).
	Header string `mapstructure:"header"`
	// MetadataKey is the key of the client metadata with the tenant (default: none).
	MetadataKey string `mapstructure:"metadata_key"`
	// Default is the tenant of requests without that metadata (default: none, no header is sent).
	Default string `mapstructure:"default"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// NewDefaultTenantConfig returns the defaults.
func NewDefaultTenantConfig() TenantConfig { return TenantConfig{Header: "X-Scope-OrgID"} }

// Of returns the tenant of the request of ctx.
func (c *TenantConfig) Of(ctx context.Context) string {
	if c.MetadataKey != "" {
		if values := client.FromContext(ctx).Metadata.Get(c.MetadataKey); len(values) > 0 && values[0] != "" {
			return values[0]
		}
	}
	return c.Default
}
