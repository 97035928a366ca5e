// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
)

// secretive matches the keys under which a configuration may hold a secret.
var secretive = regexp.MustCompile(`^(headers|.*(password|secret|token|credentials|_pem))$`)

// TestSecretFields: whatever in our configurations is named like a secret is of a type that does not print itself. The extension
// target_discovery is a module of its own, with the test TestSecretKeys.
func TestSecretFields(t *testing.T) {
	opaque := map[reflect.Type]bool{
		reflect.TypeFor[configopaque.String](): true, reflect.TypeFor[configopaque.MapList](): true,
	}
	found := 0
	for _, factory := range []component.Factory{
		pprofreceiver.NewFactory(), splunklogprofilereceiver.NewFactory(), splunklogprofileconnector.NewFactory(),
		profilededuplicator.NewFactory(), pprofexporter.NewFactory(), profileviewexporter.NewFactory(),
	} {
		visit(reflect.TypeOf(factory.CreateDefaultConfig()), map[reflect.Type]bool{}, func(key string, of reflect.Type) {
			if secretive.MatchString(key) {
				found++
				assert.True(t, opaque[of], "%s: %s is a %s", factory.Type(), key, of)
			}
		})
	}
	assert.NotZero(t, found)
}

// visit calls f for each key of a configuration and of what is below it, wrapped or not.
func visit(of reflect.Type, seen map[reflect.Type]bool, f func(key string, of reflect.Type)) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || seen[of] {
		return
	}
	seen[of] = true
	for field := range of.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if key != "" && key != "-" {
			f(key, field.Type)
		}
		visit(field.Type, seen, f)
	}
}

// TestPrintConfig: what the command shows has no secret of any place that is meant for one.
func TestPrintConfig(t *testing.T) {
	const config = `yaml:
receivers:
  pprof/scrape:
    scrape:
      targets: [{endpoint: "localhost:6060"}]
      headers: {Authorization: s3cret-1}
  pprof/remote:
    remote:
      endpoint: http://localhost:6060/debug/pprof/heap
      headers: {Authorization: s3cret-2}
  splunk_log_profile:
    protocols: {grpc: {endpoint: "localhost:0"}}
exporters:
  pprof:
    http:
      endpoint: http://localhost:1
      headers: {Authorization: s3cret-3}
      tls: {cert_pem: s3cret-4, key_pem: s3cret-5}
  otlp_grpc:
    endpoint: localhost:1
    headers: {Authorization: s3cret-6}
extensions:
  bearertokenauth: {token: "${env:TOKEN}"}
  basicauth: {client_auth: {username: user, password: s3cret-7}}
  target_discovery:
    http_sd_configs:
      - {url: "http://localhost:1", basic_auth: {username: user, password: "${env:TOKEN}"}, http_headers: {X-Key: {secrets: [s3cret-9]}}}
      - {url: "http://localhost:1", bearer_token: s3cret-10, tls_config: {key: s3cret-11, cert: x}}
    kubernetes_sd_configs:
      - {role: pod, api_server: "http://localhost:1", oauth2: {client_id: x, client_secret: s3cret-12, token_url: "http://localhost:1"}}
service:
  extensions: [bearertokenauth, basicauth]
  pipelines:
    profiles: {receivers: [pprof/scrape, pprof/remote, splunk_log_profile], exporters: [pprof, otlp_grpc]}
`
	command := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "print-config", "--feature-gates=service.profilesSupport", "--config", config)
	command.Env = []string{"TOKEN=s3cret-8"}
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	assert.NotContains(t, string(output), "s3cret")
	// A header each, the two parts of the certificate, the password and the token, and those of Prometheus' clients: they are
	// there, but not shown.
	assert.Equal(t, 13, strings.Count(string(output), "[REDACTED]"), string(output))
}
