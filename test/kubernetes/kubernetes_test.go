// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
)

const (
	// within is the time limit of each step.
	within    = 30 * time.Second
	pollEvery = 20 * time.Millisecond
)

// block returns the text between fences that follows a part of a document.
func block(t *testing.T, document, after string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + document)
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), after)
	require.True(t, found, after)
	match := regexp.MustCompile("(?s)```[a-z]*\n(.*?)```").FindStringSubmatch(below)
	require.NotNil(t, match, after)
	return match[1]
}

func get(t assert.TestingT, address string) (status int, text string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+address, http.NoBody)
	assert.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if !assert.NoError(t, err) {
		return 0, ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	assert.NoError(t, err)
	return answer.StatusCode, string(body)
}

// TestEBPFNames: with the section of docs/ebpf.md, config/ebpf.yaml finds the pod of a container, and counts resources
// without a pod.
func TestEBPFNames(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	config, err := filepath.Abs("../../config/ebpf.yaml")
	require.NoError(t, err)
	addresses, err := gateway.FreeAddresses(t.Context(), 4)
	require.NoError(t, err)
	_, metricsPort, err := net.SplitHostPort(addresses[3])
	require.NoError(t, err)
	directory := t.TempDir()
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{
			config, "yaml:\n" + block(t, "docs/ebpf.md", "\n### Names of Kubernetes\n"),
			"yaml:processors: {k8s_attributes: {auth_type: kubeConfig, wait_for_metadata: true}, profile_deduplicator: {batch: {timeout: 50ms}}}",
			fmt.Sprintf("yaml:receivers: {otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}}", addresses[0], addresses[1]),
			fmt.Sprintf("yaml:extensions: {health_check: {endpoint: %q}}", addresses[2]),
			"yaml:service::pipelines::profiles::processors: [memory_limiter, k8s_attributes, profile_deduplicator, transform]",
			"yaml:service::pipelines::profiles::exporters: [pprof/files]",
			fmt.Sprintf("yaml:service::telemetry::metrics: {level: normal, readers: [{pull: {exporter: {prometheus: {"+
				"host: 127.0.0.1, port: %s, without_scope_info: true, without_type_suffix: true, without_units: true}}}}]}", metricsPort),
		},
		HealthURL:   "http://" + addresses[2],
		Directory:   directory,
		Environment: []string{"KUBECONFIG=" + api.config},
	})
	send(t, addresses[0], containerID, "ffff", "")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, service := range []string{"checkout", "ffff", "kernel"} {
			found, err := filepath.Glob(filepath.Join(directory, "profiles", service, "*", "*.pb.gz"))
			assert.NoError(c, err)
			assert.Len(c, found, 1, service)
		}
	}, within, pollEvery)
	_, metrics := get(t, addresses[3]+"/metrics")
	for identifier, statuses := range map[string][]string{"resource_attribute/container.id": {"success", "error"}, "": {"error"}} {
		for _, status := range statuses {
			assert.Regexp(t, `(?m)^otelcol_k8s_pod_association\{otelcol_signal="profiles",pod_identifier="`+identifier+`",status="`+status+`"\} 1$`, metrics)
		}
	}
}

// send sends a message with a resource for each container, as the profiler does.
func send(t *testing.T, address string, containers ...string) {
	t.Helper()
	pd := pprofile.NewProfiles()
	pd.Dictionary().StringTable().FromRaw([]string{"", "samples", "count"})
	pd.Dictionary().StackTable().AppendEmpty()
	pd.Dictionary().LinkTable().AppendEmpty()
	for i, id := range containers {
		resource := pd.ResourceProfiles().AppendEmpty()
		resource.Resource().Attributes().PutStr("container.id", id)
		p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		p.SetProfileID(pprofile.ProfileID{byte(i + 1)})
		p.SampleType().SetTypeStrindex(1)
		p.SampleType().SetUnitStrindex(2)
		p.SetTime(1_770_364_246_000_000_000)
		p.SetDurationNano(5_000_000_000)
		p.Samples().AppendEmpty().TimestampsUnixNano().Append(uint64(p.Time()))
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	_, err = pprofileotlp.NewGRPCClient(connection).Export(t.Context(), pprofileotlp.NewExportRequestFromProfiles(pd))
	require.NoError(t, err)
}

// TestHealth: with the configuration in the README of kubernetes_access, health_check reports the status of the components.
func TestHealth(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	addresses, err := gateway.FreeAddresses(t.Context(), 2)
	require.NoError(t, err)
	section := strings.ReplaceAll(block(t, "extension/kubernetesaccessextension/README.md", "\n## Health\n"), "${env:MY_POD_IP}:13133", addresses[0])
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{
			"yaml:\n" + section,
			"yaml:extensions::health_check::component_health::recovery_duration: 1s",
			fmt.Sprintf("yaml:extensions::kubernetes_access: {interval: 20ms, endpoint: %q, token_file: %q, ca_file: %q}", api.URL, api.token, api.certificate),
			fmt.Sprintf("yaml:receivers::pprof::server::endpoint: %q", addresses[1]),
			"yaml:exporters::nop:",
			"yaml:service: {extensions: [kubernetes_access, health_check], pipelines: {profiles: {receivers: [pprof], exporters: [nop]}}, telemetry: {metrics: {level: none}}}",
		},
		HealthURL: "http://" + addresses[0],
		Gates:     []string{"extension.healthcheck.useComponentStatus"},
	})
	status, text := get(t, addresses[0]+"/?verbose")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "StatusOK")

	api.denied.Store(true)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, text := get(c, addresses[0]+"/?verbose")
		assert.Contains(c, text, "StatusRecoverableError")
		assert.Contains(c, text, "verbs: [list, watch]")
	}, within, pollEvery)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, _ := get(c, addresses[0])
		assert.Equal(c, http.StatusInternalServerError, status)
	}, within, pollEvery, "it lasts longer than recovery_duration")

	api.denied.Store(false)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, _ := get(c, addresses[0])
		assert.Equal(c, http.StatusOK, status)
	}, within, pollEvery)
}
