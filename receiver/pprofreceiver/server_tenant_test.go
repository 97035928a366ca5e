// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
)

// attributes are the attributes of a client from an authenticator.
type attributes map[string]any

func (a attributes) GetAttribute(name string) any { return a[name] }

func (a attributes) GetAttributeNames() []string { return nil }

func TestTenantFrom(t *testing.T) {
	for _, c := range []struct {
		from    TenantFrom
		auth    client.AuthData
		address string
		want    string
	}{
		{from: TenantFromHeader, auth: attributes{"subject": "a"}, want: "said"},
		{from: TenantFromAuth, auth: attributes{"subject": "a", "username": "b"}, want: "subject a"},
		{from: TenantFromAuth, auth: attributes{"username": "b", "raw": "x"}, want: "username b"},
		{from: TenantFromAuth, auth: attributes{"subject": []string{"a"}}, want: "Bearer token"},
		{from: TenantFromAuth, want: "Bearer token"},
		{from: TenantFromAddress, address: "192.0.2.1:77", want: "192.0.2.1"},
		{from: TenantFromAddress, address: "[2001:db8::1]:77", want: "2001:db8::1"},
		{from: TenantFromAddress, address: "@", want: "@"},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		request.RemoteAddr = c.address
		request.Header.Set(tenantHeader, "said")
		request.Header.Set("Authorization", "Bearer token")
		request = request.WithContext(client.NewContext(t.Context(), client.Info{Auth: c.auth}))
		assert.Equal(t, c.want, c.from.of(request))
	}
}

// TestTenantMetadata: the tenant is passed on, and other headers only with include_metadata.
func TestTenantMetadata(t *testing.T) {
	for all, want := range map[bool][]string{false: nil, true: {"secret"}} {
		r := run(t, func(_ *Config, s *ServerConfig) { s.HTTP.IncludeMetadata = all })
		require.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", plain(t, cpuProfile(1)), tenantHeader, "team-b", "Authorization", "secret").status)
		info := client.FromContext(r.sink.ctx[0])
		assert.Equal(t, []string{"team-b"}, info.Metadata.Get("x-scope-orgid"))
		assert.Equal(t, want, info.Metadata.Get("authorization"))
		assert.Equal(t, "127.0.0.1", info.Addr.String())
	}
}
