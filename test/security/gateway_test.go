// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take that the gateway does by itself.
const patience = time.Minute

// listeners is a gateway with each listener that is ours, all with the same settings for TLS and authentication.
const listeners = `yaml:
receivers:
  pprof:
    server:
      endpoint: %[1]s
%[7]s
  splunk_log_profile:
    protocols:
      http:
        endpoint: %[2]s
%[8]s
      grpc:
        endpoint: %[3]s
%[8]s
exporters:
  profile_view:
    endpoint: %[4]s
%[9]s
  pprof:
    file:
      directory: %[6]s
extensions:
  health_check:
    endpoint: %[5]s
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [pprof, splunk_log_profile]
      exporters: [profile_view, pprof]
  telemetry:
    logs:
      level: debug
    metrics:
      level: none
`

// tester is a running gateway with its four listeners.
type tester struct {
	*gateway.Gateway
	pprof, http, grpc, pages string
	directory                string
}

func indented(lines []string, by int) string {
	indent := strings.Repeat(" ", by)
	return indent + strings.Join(lines, "\n"+indent)
}

// start runs the gateway. settings are lines of YAML that each listener has, and more is configuration besides.
func start(t *testing.T, settings []string, more ...string) *tester {
	t.Helper()
	a, err := gateway.FreeAddresses(t.Context(), 5)
	require.NoError(t, err)
	g := &tester{pprof: a[0], http: a[1], grpc: a[2], pages: a[3], directory: t.TempDir()}
	four, six, eight := indented(settings, 4), indented(settings, 6), indented(settings, 8)
	g.Gateway = gatewaytest.Run(t, gateway.Options{
		Configs:   append([]string{fmt.Sprintf(listeners, a[0], a[1], a[2], a[3], a[4], g.directory, six, eight, four)}, more...),
		HealthURL: "http://" + a[4],
	})
	return g
}
