// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestBusy: a request above the limit is refused with a retryable error.
func TestBusy(t *testing.T) {
	r := runWaiting(t, 10*time.Millisecond, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests = 1
	})
	entered, release := r.holdRequests("/v1/pprof")
	body := plain(t, cpuProfile(1))
	first := r.postLater(t, body)
	<-entered

	got := r.post(t, "/v1/pprof", body)
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "5", got.header.Get("Retry-After"))
	assert.Contains(t, got.text, "max_concurrent_requests")
	r.assertRefusals(t, map[string]int64{"busy": 1})

	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
}

// TestWaitForLimit: a request above the limit waits.
func TestWaitForLimit(t *testing.T) {
	r := runWaiting(t, time.Minute, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests = 1 })
	entered, release := r.holdRequests("/v1/pprof")
	body := plain(t, cpuProfile(1))
	first, second := r.postLater(t, body), r.postLater(t, body)
	<-entered
	close(release)
	assert.Equal(t, http.StatusNoContent, (<-first).status)
	assert.Equal(t, http.StatusNoContent, (<-second).status)
}

// TestSlowSendersDoNotCount: requests whose body has not arrived do not count. Others are served in the meantime.
func TestSlowSendersDoNotCount(t *testing.T) {
	r := runWaiting(t, 0, func(_ *Config, s *ServerConfig) { s.MaxConcurrentRequests = 1 })
	for range 5 {
		r.raw(t, unfinished(1_000_000, 0))
		r.raw(t, unfinished(1_000_000, 1000))
	}
	r.waitArriving(t, 10)
	got := r.post(t, "/v1/pprof", plain(t, cpuProfile(1)))
	assert.Equal(t, http.StatusNoContent, got.status, got.text)
}

// TestWaitingRequestsDoNotCount: requests that the next consumer has do not count toward the limits.
func TestWaitingRequestsDoNotCount(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := runWaiting(t, 0, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.MaxConcurrentRequestsPerTenant = 2, 1
	})
	r.sink.consume = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	body := plain(t, cpuProfile(1))
	var requests []<-chan reply
	for range 10 {
		requests = append(requests, r.postLater(t, body))
		<-entered
	}
	close(release)
	for _, request := range requests {
		assert.Equal(t, http.StatusNoContent, (<-request).status)
	}
}

func TestGivingUpWaiting(t *testing.T) {
	for _, p := range []*requestLimiter{newRequestLimiter(1, 0, time.Minute), newRequestLimiter(2, 1, time.Minute)} {
		release, err := p.acquire(t.Context(), "a")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.acquire(ctx, "a")
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, aborted, classOf(err))
		release()
		release, err = p.acquire(t.Context(), "a")
		require.NoError(t, err)
		release()
		assert.Empty(t, p.tenants, "a tenant without requests is forgotten")
	}
}

// TestGreedyTenant: further requests of a tenant at its limit are refused. Another tenant is served.
func TestGreedyTenant(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := runWaiting(t, 10*time.Millisecond, func(_ *Config, s *ServerConfig) {
		s.MaxConcurrentRequests, s.MaxConcurrentRequestsPerTenant = 3, 2
	})
	r.whileProcessed("/v1/pprof", func(ctx context.Context) {
		if client.FromContext(ctx).Metadata.Get(tenantHeader)[0] == "greedy" {
			entered <- struct{}{}
			<-release
		}
	})
	body := plain(t, cpuProfile(1))
	var greedy []<-chan reply
	for range 2 {
		greedy = append(greedy, r.postLater(t, body, tenantHeader, "greedy"))
		<-entered
	}
	for range 5 {
		got := r.post(t, "/v1/pprof", body, tenantHeader, "greedy")
		assert.Equal(t, http.StatusTooManyRequests, got.status)
		assert.Equal(t, "5", got.header.Get("Retry-After"))
		assert.Contains(t, got.text, "max_concurrent_requests_per_tenant")
		got = r.post(t, "/v1/pprof", body, tenantHeader, "modest")
		assert.Equal(t, http.StatusNoContent, got.status, got.text)
	}
	r.assertRefusals(t, map[string]int64{"tenant_busy": 5})
	close(release)
	for _, first := range greedy {
		assert.Equal(t, http.StatusNoContent, (<-first).status)
	}
}

// holdRequests holds requests to a path while they are processed, until release is closed.
func (r *running) holdRequests(path string) (entered <-chan struct{}, release chan<- struct{}) {
	begun, end := make(chan struct{}, 2), make(chan struct{})
	r.whileProcessed(path, func(context.Context) {
		begun <- struct{}{}
		<-end
	})
	return begun, end
}

// whileProcessed calls a function while a request to a path is processed, before its payloads are translated.
func (r *running) whileProcessed(path string, call func(ctx context.Context)) {
	one := r.receiver.sections[0].(*server).byPath[path]
	read := one.read
	one.read = func(ctx context.Context, request *http.Request, payloads *batch, body []byte) error {
		call(ctx)
		return read(ctx, request, payloads, body)
	}
}

// TestRepeatedLabels: values of one source are kept together, and override those of the sources before.
func TestRepeatedLabels(t *testing.T) {
	names := map[string]string{"service": attributeServiceName}
	for name, test := range map[string]struct {
		before map[string]any
		labels []label
		want   map[string]any
	}{
		"one value":                   {labels: []label{{name: "a", value: "1"}}, want: map[string]any{"a": "1"}},
		"two values":                  {labels: []label{{name: "a", value: "1"}, {name: "a", value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"an empty value between":      {labels: []label{{name: "a", value: "1"}, {name: "a"}, {name: "a", value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"an empty value first":        {labels: []label{{name: "a"}, {name: "a", value: "2"}}, want: map[string]any{"a": "2"}},
		"equal values":                {labels: []label{{name: "a", value: "1"}, {name: "a", value: "1"}}, want: map[string]any{"a": "1"}},
		"another source before":       {before: map[string]any{"a": "0"}, labels: []label{{name: "a", value: "1"}}, want: map[string]any{"a": "1"}},
		"another source with two":     {before: map[string]any{"a": []any{"0", "9"}}, labels: []label{{name: "a", value: "1"}, {name: "a", value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"a service has one name":      {labels: []label{{name: "service", value: "1"}, {name: "service", value: "2"}}, want: map[string]any{"service.name": "2"}},
		"also under the other name":   {labels: []label{{name: "service.name", value: "1"}, {name: "service.name", value: "2"}}, want: map[string]any{"service.name": "2"}},
		"labels for the server alone": {labels: []label{{name: "__a", value: "1"}, {name: "__a", value: "2"}}, want: map[string]any{}},
	} {
		source := pprof.Source{Resource: pcommon.NewMap()}
		require.NoError(t, source.Resource.FromRaw(test.before))
		setFromLabels(&source, test.labels, names)
		assert.Equal(t, test.want, source.Resource.AsRaw(), name)
	}
}

// attributes are the attributes of a client from an authenticator.
type attributes map[string]any

func (a attributes) GetAttribute(name string) any { return a[name] }

func (a attributes) GetAttributeNames() []string { return nil }

func TestTenantFrom(t *testing.T) {
	for _, c := range []struct {
		from    string
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
		assert.Equal(t, c.want, tenantOf(c.from, request))
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
