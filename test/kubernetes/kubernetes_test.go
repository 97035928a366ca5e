// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
)

const (
	// within is the time limit of each step.
	within    = time.Minute
	pollEvery = 20 * time.Millisecond
)

// block returns the text between fences that follows a part of a document.
func block(t *testing.T, document, after string) string {
	t.Helper()
	text := must.Get(os.ReadFile("../../" + document))(t)
	_, below, found := strings.Cut(string(text), after)
	require.True(t, found, after)
	match := regexp.MustCompile("(?s)```[a-z]*\n(.*?)```").FindStringSubmatch(below)
	require.NotNil(t, match, after)
	return match[1]
}

func get(t require.TestingT, address string) gatewaytest.Answer {
	return gatewaytest.Send(t, http.MethodGet, "http://"+address, nil)
}

// TestEBPFNames: with the section of docs/ebpf.md, config/ebpf.yaml finds the pod of a container, and counts resources
// without a pod.
func TestEBPFNames(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	config := must.Get(filepath.Abs("../../config/ebpf.yaml"))(t)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 4))(t)
	directory := t.TempDir()
	gatewaytest.Run(t, gateway.Options{
		Configs: []string{
			config, "yaml:\n" + block(t, "docs/ebpf.md", "\n### Names of Kubernetes\n"),
			"yaml:processors: {k8s_attributes: {auth_type: kubeConfig, wait_for_metadata: true}, profile_deduplicator: {batch: {timeout: 50ms}}}",
			fmt.Sprintf("yaml:receivers: {otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}}", addresses[0], addresses[1]),
			fmt.Sprintf("yaml:extensions: {health_check: {endpoint: %q}}", addresses[2]),
			"yaml:service::pipelines::profiles::processors: [memory_limiter, k8s_attributes, profile_deduplicator, transform]",
			"yaml:service::pipelines::profiles::exporters: [pprof/files]",
			"yaml:service::telemetry::metrics::level: normal", gateway.MetricsAt(addresses[3]),
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
	metrics := get(t, addresses[3]+"/metrics").Text
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
	otlpsink.Send(t, address, pd)
}

// TestHealth: with the configuration in the README of kubernetes_access, health_check reports the status of the components.
func TestHealth(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 2))(t)
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
	answer := get(t, addresses[0]+"/?verbose")
	require.Equal(t, http.StatusOK, answer.Status)
	require.Contains(t, answer.Text, "StatusOK")

	api.denied.Store(true)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		text := get(c, addresses[0]+"/?verbose").Text
		assert.Contains(c, text, "StatusRecoverableError")
		assert.Contains(c, text, "verbs: [list, watch]")
	}, within, pollEvery)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, http.StatusInternalServerError, get(c, addresses[0]).Status)
	}, within, pollEvery, "it lasts longer than recovery_duration")

	api.denied.Store(false)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, http.StatusOK, get(c, addresses[0]).Status)
	}, within, pollEvery)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// containerID is the id of the only container of the pod.
const containerID = "4a1f8b7c"

// pod is the pod as JSON of the API.
const pod = `{
	"metadata": {
		"name": "checkout-7d9f6c5b8-x2k4p", "namespace": "shop", "uid": "0a1b2c3d", "resourceVersion": "1",
		"labels": {"pod-template-hash": "7d9f6c5b8"},
		"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7d9f6c5b8", "uid": "9f8e7d6c", "controller": true}]
	},
	"spec": {"nodeName": "node-1", "containers": [{"name": "app", "image": "registry.example.com/checkout:1.2.3"}]},
	"status": {
		"phase": "Running", "podIP": "10.0.0.7",
		"containerStatuses": [{"name": "app", "containerID": "containerd://` + containerID + `", "image": "registry.example.com/checkout:1.2.3"}]
	}
}`

// apiServer serves one pod, and answers requests for the permissions of the service account.
type apiServer struct {
	*httptest.Server
	// denied says that the account has no permissions.
	denied atomic.Bool
	// token, certificate and config are the paths of files for its clients.
	token, certificate, config string
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", s.review)
	mux.HandleFunc("GET /api/v1/pods", s.pods)
	s.Server = httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	directory := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	s.token = write("token", "secret")
	s.certificate = write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	s.config = write("config", `{
		apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: here, user: here}}],
		clusters: [{name: here, cluster: {server: "`+s.URL+`", certificate-authority: "`+s.certificate+`"}}], users: [{name: here, user: {token: secret}}]
	}`)
	return s
}

// review answers whether the account has a permission.
func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if json.NewDecoder(r.Body).Decode(&review) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	review["status"] = map[string]any{"allowed": !s.denied.Load()}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

// pods lists the pod. A watch waits until the client ends it, since the pod never changes.
func (s *apiServer) pods(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		_, _ = w.Write([]byte(`{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [` + pod + `]}`))
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		// This error says that the server cannot stream lists. The client then requests a list.
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`))
		return
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
