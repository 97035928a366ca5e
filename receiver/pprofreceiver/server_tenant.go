// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/client"
)

// tenantHeader is the header that names the tenant in requests to Pyroscope and Loki.
const tenantHeader = "X-Scope-OrgID"

// tenantOf returns the tenant of a request, from what the option tenant_from says.
func tenantOf(from string, r *http.Request) string {
	switch from {
	case TenantFromAuth:
		return authenticated(r)
	case TenantFromAddress:
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr // It is a Unix socket.
		}
		return host
	default:
		return r.Header.Get(tenantHeader)
	}
}

// authenticated returns the name of the client: the attribute subject (oidc) or username (basicauth). Other
// authenticators, such as bearertokenauth, do not name the client. Then the name is the header Authorization.
func authenticated(r *http.Request) string {
	if auth := client.FromContext(r.Context()).Auth; auth != nil {
		for _, attribute := range []string{"subject", "username"} {
			if name, _ := auth.GetAttribute(attribute).(string); name != "" {
				return attribute + " " + name
			}
		}
	}
	return r.Header.Get("Authorization")
}

// withTenant adds the tenant of a request to the client metadata, for processors and exporters that separate tenants.
// With include_metadata it is there already.
func (s *server) withTenant(ctx context.Context, r *http.Request) context.Context {
	tenant := r.Header.Values(tenantHeader)
	if len(tenant) == 0 || s.cfg.HTTP.IncludeMetadata {
		return ctx
	}
	info := client.FromContext(ctx)
	info.Metadata = client.NewMetadata(map[string][]string{tenantHeader: tenant})
	return client.NewContext(ctx, info)
}
