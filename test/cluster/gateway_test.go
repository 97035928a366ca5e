// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const gate = "--feature-gates=service.profilesSupport"

// process is a running process of the distribution.
type process struct {
	command *exec.Cmd
	log     *buffer
	address string
	uploads int
	// stop ends the process, and waits until it has ended.
	stop func()
}

// inPod is a script that runs a program with the files of a container in a pod: the token and the certificate of its service account in
// the standard directory, and an empty volume. It uses a mount namespace, so that it does not change the files of the machine.
const inPod = `
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mkdir -p "$(dirname "$1")" /var/lib/otelcol-pprof &&
cp -r "$2" "$1" && shift 2 && exec "$@"
`

// startGateway runs the distribution with the shipped configuration, with the service account of the manifests. Each of
// the other arguments overrides a part of the configuration.
func (c *controlPlane) startGateway(t *testing.T, address, backend string, arguments ...string) *process {
	t.Helper()
	environment := []string{"MY_POD_IP=" + address, "BACKEND_ENDPOINT=" + backend, "GOMEMLIMIT=1638MiB"}
	return c.startInPod(t, address, namespace, environment, append([]string{"--config=" + absolute(t, manifests+"base/config.yaml")}, arguments...)...)
}

// startInPod runs the distribution as the service account otelpprof of a namespace.
func (c *controlPlane) startInPod(t *testing.T, address, namespace string, environment []string, arguments ...string) *process {
	t.Helper()
	account := t.TempDir()
	certificate, err := os.ReadFile(c.authority())
	require.NoError(t, err)
	token := c.kubectl(t, "", "create", "token", "otelpprof", "--namespace", namespace)
	for name, content := range map[string]string{"token": token, "ca.crt": string(certificate), "namespace": namespace} {
		require.NoError(t, os.WriteFile(filepath.Join(account, name), []byte(content), 0o600))
	}
	environment = append(environment, "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT="+strconv.Itoa(c.port))
	return start(t, address, environment, append([]string{
		"unshare", "--mount", "--propagation", "private", "sh", "-c", inPod, "sh", "/var/run/secrets/kubernetes.io/serviceaccount", account,
		binary(t), gate,
	}, arguments...)...)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELPPROF_BINARY")
	require.NotEmpty(t, path, "OTELPPROF_BINARY does not name the built distribution")
	return path
}

// start runs a Collector until the test ends. It waits until the health check answers.
func start(t *testing.T, address string, environment []string, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(arguments[0], arguments[1:]...), log: &buffer{}, address: address}
	p.command.Env = append(os.Environ(), environment...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.command.Start())
	p.stop = sync.OnceFunc(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		assert.NoError(t, p.command.Wait(), p.log)
	})
	t.Cleanup(p.stop)
	require.Eventually(t, func() bool {
		status, _ := p.get(t, ":13133/")
		return status == http.StatusOK
	}, patience, pollEvery, p.log)
	return p
}

// startBackend runs a Collector that receives OTLP profiles, and appends them to a file as JSON. It returns its endpoint and the file.
func startBackend(t *testing.T, address string) (endpoint, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "profiles.json")
	start(t, address, nil, binary(t), gate, "--config=yaml:"+fmt.Sprintf(`
receivers: {otlp: {protocols: {grpc: {endpoint: "%[1]s:4317"}}}}
exporters: {file: {path: %[2]q, flush_interval: 50ms}}
extensions: {health_check: {endpoint: "%[1]s:13133"}}
service:
  extensions: [health_check]
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
  telemetry: {metrics: {level: none, readers: []}}
`, address, file))
	return address + ":4317", file
}

func (p *process) get(t *testing.T, portAndPath string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.address+portAndPath, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// upload sends a profile from an address. Each upload is different: drop_repeated would drop an equal one.
func (p *process) upload(t *testing.T, from, service string) {
	t.Helper()
	profile, err := os.ReadFile(root + "/testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}}}
	p.uploads++
	url := fmt.Sprintf("http://%s:4040/v1/pprof?service.name=%s&resource.upload=%d", p.address, service, p.uploads)
	response, err := client.Post(url, "application/octet-stream", bytes.NewReader(profile))
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
}

// buffer has the log of a process so far.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
