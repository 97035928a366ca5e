// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.yaml.in/yaml/v2"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/testkit/configtest"
	"github.com/otelpprof/otelpprof/internal/testkit/lifecycletest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestConfigErrors: what Prometheus refuses is refused, with the place of the entry.
func TestConfigErrors(t *testing.T) { configtest.CheckRefused(t, createDefaultConfig) }

// TestShippedConfig: it is valid, with and without values for its variables.
func TestShippedConfig(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, shipped(t))
	assert.Len(t, cfg.KubernetesSDConfigs, 1)
	assert.Equal(t, defaultMaxTargets, cfg.MaxTargets)
}

// TestSchema: config.schema.yaml has the options of the configuration, with their defaults.
func TestSchema(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("config.schema.yaml"))(t)
	var schema struct {
		Properties map[string]struct {
			Description string
			Default     any
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &schema))
	defaults := reflect.ValueOf(createDefaultConfig()).Elem()
	fields := configcheck.Fields(defaults.Type())
	assert.Len(t, schema.Properties, len(fields))
	for name, field := range fields {
		option := schema.Properties[name]
		assert.NotEmpty(t, option.Description, name)
		if value := defaults.FieldByIndex(field.Index); !value.IsZero() {
			assert.EqualValues(t, value.Interface(), option.Default, name)
		}
	}
}

// TestReadmeKubernetes: each example for Kubernetes finds a container that runs, and none that does not run or ends soon.
func TestReadmeKubernetes(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("README.md"))(t)
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[1], "kubernetes_sd_configs") {
			continue
		}
		examples++
		values := strings.NewReplacer("${env:SCRAPE_SHARD:-0}", "0|1|2", "${env:K8S_NODE_NAME}", "node-1", "$$", "$").Replace(block[1])
		var whole struct{ Extensions map[string]map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(values), &whole))
		section := must.Get(yaml.Marshal(whole.Extensions["target_discovery"]))(t)
		running := pod("10.0.0.1:6060", "http", "profiles.grafana.com/cpu.scrape", "true")
		targets, _ := applied(t, string(section), nil, running)
		assert.Len(t, targets, 1, block[1])
		for label, values := range map[model.LabelName][]model.LabelValue{
			"__meta_kubernetes_pod_phase":          {"Pending", "Succeeded", "Failed"},
			"__meta_kubernetes_pod_container_init": {"true"},
		} {
			for _, value := range values {
				other := maps.Clone(running)
				other[label] = value
				targets, _ = applied(t, string(section), nil, other)
				assert.Empty(t, targets, "%s=%s: %s", label, value, block[1])
			}
		}
	}
	assert.Equal(t, 2, examples)
}

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
	conf := must.Get(resolver.Resolve(t.Context()))(t)
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
	all := must.Get(cfg.mechanisms())(t)
	client := all[0].config.(*http.SDConfig).HTTPClientConfig
	assert.EqualValues(t, "0012", client.Authorization.Credentials)
	assert.Equal(t, []string{"7"}, client.HTTPHeaders.Headers["X-Scope-OrgID"].Values)
	assert.Nil(t, all[1].config.(*http.SDConfig).HTTPClientConfig.Authorization, "a variable without a value is no secret")
}

// TestRulesLikeNumbers: YAML makes another text of a fraction, a long number or a time. Prometheus reads what is written.
func TestRulesLikeNumbers(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"1.10", `"${text:012345678901}"`, "2026-11-30"} {
		_, err := resolved(t, "relabel_configs: [{source_labels: [version], action: keep, regex: "+value+"}]")
		require.ErrorContains(t, err, "relabel_configs[0]::regex is a fraction", value)
	}
	cfg, err := resolved(t, `relabel_configs: [{source_labels: [__tmp_hash], action: keep, regex: 0}, {target_label: a, replacement: "1.10"}]`)
	require.NoError(t, err)
	rules := must.Get(cfg.rules())(t)
	assert.Equal(t, "0", rules[0].Regex.String())
	assert.Equal(t, "1.10", rules[1].Replacement)
}

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
	all := must.Get(cfg.mechanisms())(t)
	first := all[0].config.(*http.SDConfig).HTTPClientConfig
	assert.EqualValues(t, "s3cret-0", first.BasicAuth.Password)
	assert.Equal(t, []config.Secret{"s3cret-1", "s3cret-2"}, first.HTTPHeaders.Headers["X-Key"].Secrets)
	assert.EqualValues(t, "s3cret-5", all[1].config.(*http.SDConfig).HTTPClientConfig.TLSConfig.Key)
	assert.EqualValues(t, "s3cret-8", all[3].config.(*kubernetes.SDConfig).HTTPClientConfig.OAuth2.ClientSecret)
}

func TestLifecycle(t *testing.T) {
	cfg := createDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"file_sd_configs": []any{map[string]any{"files": []any{"testdata/targets.yaml"}}},
	}).Unmarshal(&cfg))
	lifecycletest.Check(t, func() (extension.Extension, error) {
		return NewFactory().Create(t.Context(), extensiontest.NewNopSettings(typ), cfg)
	})
}
