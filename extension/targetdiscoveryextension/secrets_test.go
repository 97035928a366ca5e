// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// TestSecretKeys: whatever is a secret in the configurations of Prometheus is one here.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, entry := range []any{http.SDConfig{}, file.SDConfig{}, dns.SDConfig{}, kubernetes.SDConfig{}} {
		visit(reflect.TypeOf(entry), "", map[reflect.Type]bool{}, found)
	}
	assert.Len(t, found, 8, found)
	for key := range found {
		assert.True(t, secretKeys[key], key)
	}
}

// visit collects the keys of the secrets in a type and in what is below it.
func visit(of reflect.Type, key string, seen map[reflect.Type]bool, found map[string]bool) {
	if of == reflect.TypeFor[config.Secret]() {
		found[key] = true
	}
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visit(of.Elem(), key, seen, found)
	case reflect.Struct:
		if seen[of] {
			return
		}
		seen[of] = true
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			visit(field.Type, name, seen, found)
		}
	}
}

// withSecrets is a configuration with a secret in each place for one, and some that are none.
const withSecrets = `
http_sd_configs:
  - {url: "http://a", basic_auth: {username: user, password: s3cret-0}, http_headers: {X-Key: {secrets: [s3cret-1, s3cret-2], values: [s3cret-3], files: [shown]}}}
  - {url: "http://a", authorization: {type: Bearer, credentials: s3cret-4}, tls_config: {server_name: shown, cert: shown, key: s3cret-5}}
  - {url: "http://a", bearer_token: s3cret-6, proxy_url: "http://p", proxy_connect_header: {Proxy-Authorization: [s3cret-7]}}
kubernetes_sd_configs:
  - role: pod
    api_server: https://shown
    oauth2: {client_id: shown, client_secret: s3cret-8, token_url: "http://t", endpoint_params: {assertion: s3cret-9}}
`

// TestSecretsAreHidden: they are not printed, but used.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, withSecrets)
	printed := confmap.New()
	require.NoError(t, printed.Marshal(cfg))
	for _, text := range []string{fmt.Sprint(printed.ToStringMap()), fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg)} {
		assert.NotContains(t, text, "s3cret")
		assert.Equal(t, 10, strings.Count(text, "[REDACTED]"), text)
		assert.Equal(t, 5, strings.Count(text, "shown"), text)
	}
	all, err := cfg.mechanisms()
	require.NoError(t, err)
	first := all[0].config.(*http.SDConfig).HTTPClientConfig
	assert.EqualValues(t, "s3cret-0", first.BasicAuth.Password)
	assert.Equal(t, []config.Secret{"s3cret-1", "s3cret-2"}, first.HTTPHeaders.Headers["X-Key"].Secrets)
	assert.EqualValues(t, "s3cret-5", all[1].config.(*http.SDConfig).HTTPClientConfig.TLSConfig.Key)
	assert.EqualValues(t, "s3cret-8", all[3].config.(*kubernetes.SDConfig).HTTPClientConfig.OAuth2.ClientSecret)
}
