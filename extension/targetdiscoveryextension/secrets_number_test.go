// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/discovery/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// textProvider gives the text of a reference itself, as the provider of environment variables gives that of a variable.
type textProvider struct{}

func (textProvider) Scheme() string { return "text" }

func (textProvider) Shutdown(context.Context) error { return nil }

func (textProvider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	return confmap.NewRetrievedFromYAML([]byte(strings.TrimPrefix(uri, "text:")))
}

// resolved reads a configuration with references.
func resolved(t *testing.T, text string) (*Config, error) {
	t.Helper()
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"text:" + text},
		ProviderFactories: []confmap.ProviderFactory{confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider { return textProvider{} })},
	})
	require.NoError(t, err)
	conf, err := resolver.Resolve(t.Context())
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	return cfg, conf.Unmarshal(cfg)
}

// TestSecretsLikeNumbers: YAML makes another text of them, which the server would refuse.
func TestSecretsLikeNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"${text:0012}", "${text:1e5}", "${text:0x1F}", "${text:true}", "12"} {
		_, err := resolved(t, `http_sd_configs: [{url: "http://a", basic_auth: {username: u, password: "`+text+`"}}]`)
		if text == "12" {
			require.NoError(t, err, "in quotes it is a text")
			continue
		}
		require.ErrorContains(t, err, "http_sd_configs[0]::basic_auth::password is a number or a word that YAML does not read as text", text)
	}
	_, err := resolved(t, `kubernetes_sd_configs: [{role: pod, http_headers: {A: {secrets: [a, 7]}}}]`)
	require.ErrorContains(t, err, "kubernetes_sd_configs[0]::http_headers::A::secrets[1] is a number")

	cfg, err := resolved(t, `http_sd_configs: [{url: "http://a", bearer_token: "0012", http_headers: {X-Scope-OrgID: {values: [7]}}}, {url: "http://a", bearer_token: "${text:}"}]`)
	require.NoError(t, err)
	all, err := cfg.mechanisms()
	require.NoError(t, err)
	client := all[0].config.(*http.SDConfig).HTTPClientConfig
	assert.EqualValues(t, "0012", client.Authorization.Credentials)
	assert.Equal(t, []string{"7"}, client.HTTPHeaders.Headers["X-Scope-OrgID"].Values)
	assert.Nil(t, all[1].config.(*http.SDConfig).HTTPClientConfig.Authorization, "a variable without a value is no secret")
}
