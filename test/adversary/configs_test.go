// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const root = "../.."

// backendPort is where configurations send OTLP to, targetPort where they scrape.
const backendPort, targetPort = "4320", "6060"

// pyroscope is where configurations send pprofs to. The backend takes them, too: while nobody does, what hostile clients sent fills the
// queue on disk, and all others are refused.
const pyroscope = "http://pyroscope:4040"

// shipped is a configuration that is shipped: its files, one on top of the other, and what has to differ here.
type shipped struct {
	name  string
	files []string
	more  []string
	// front is the configuration of the process that takes what this one reads from Kafka.
	front string
	// tls says that its senders need TLS.
	tls bool
	// likeOthers says that it differs from another one in addresses only: it gets only the bodies for every listener.
	likeOthers bool
}

// configurations are all shipped ones.
var configurations = []shipped{
	{name: "gateway", files: []string{"config/gateway.yaml"}},
	{name: "splunk", files: []string{"config/splunk.yaml"}},
	{name: "agent", files: []string{"config/agent.yaml"}},
	{name: "demo", files: []string{"config/demo.yaml"}},
	{name: "scrape", files: []string{"config/scrape.yaml"}, more: []string{scrapeSettings}},
	{name: "discovery", files: []string{"config/scrape.yaml"}, more: []string{scrapeSettings, discoverySettings}},
	{name: "kafka-front", files: []string{"config/kafka-front.yaml"}},
	{name: "kafka-back", files: []string{"config/kafka-back.yaml"}, front: "config/kafka-front.yaml"},
	{name: "ebpf", files: []string{"config/ebpf.yaml"}},
	// Without a cluster there is nobody to ask for the names of pods.
	{name: "kubernetes", files: []string{"deploy/kubernetes/base/config.yaml"}, more: []string{withoutCluster}},
	{
		name: "single", files: []string{"deploy/kubernetes/base/config.yaml", "deploy/kubernetes/overlays/single/single.yaml"},
		more: []string{withoutCluster},
	},
	{
		name: "kubernetes-tls", files: []string{"deploy/kubernetes/base/config.yaml", "deploy/kubernetes/overlays/tls/tls.yaml"},
		more: []string{withoutCluster}, tls: true, likeOthers: true,
	},
	{name: "docker", files: []string{"deploy/docker/config.yaml"}},
	{name: "kubernetes-front", files: []string{"deploy/kubernetes/overlays/kafka/front-config.yaml"}, more: []string{withoutCluster}, likeOthers: true},
	{name: "kubernetes-back", files: []string{"deploy/kubernetes/overlays/kafka/back-config.yaml"}, likeOthers: true},
	{name: "kubernetes-agent", files: []string{"deploy/helm/otelcol-pprof/files/agent.yaml"}},
}

// notRun are configurations that need what is not here: each has the same listeners as one that is run, see TestConfigurations.
var notRun = map[string]string{
	"config/scrape-kubernetes.yaml":               "a cluster",
	"deploy/helm/values.yaml":                     "the chart of the community",
	"deploy/operator/opentelemetrycollector.yaml": "the operator",
}

const withoutCluster = "yaml:service::pipelines::profiles::processors: [memory_limiter, profile_deduplicator]"

var (
	addressIn = regexp.MustCompile(`(?:127\.0\.0\.1|0\.0\.0\.0|localhost|\$\{env:MY_POD_IP\}):(\d{4,5})`)
	portIn    = regexp.MustCompile(`\bport: (\d{4})\b`)
	stateIn   = regexp.MustCompile(`/var/lib/otelcol-pprof/`)
	secretsIn = regexp.MustCompile(`/etc/otelcol-pprof-(?:tls|users)/`)
)

// resolved is a configuration with free addresses, whose files are in a directory of its own.
type resolved struct {
	shipped
	directory string
	configs   []string
	// byPort are the addresses that stand for those of the files.
	byPort map[string]string
	// metrics is the address of the Collector's own metrics, if a file has it.
	metrics string
	// certificate is that of the process and of its clients, if its senders need TLS.
	certificate tls.Certificate
	// text is that of all files.
	text string
	// front is the process before Kafka, if there is one.
	front *resolved
}

// resolve gives a configuration free addresses and a container of so many MiB.
func (s shipped) resolve(t *testing.T, mib int) *resolved {
	t.Helper()
	r := &resolved{shipped: s, directory: t.TempDir(), byPort: map[string]string{}}
	if s.front != "" {
		r.front = shipped{files: []string{s.front}}.resolve(t, mib)
		r.byPort[brokerPort] = r.front.byPort[brokerPort]
	}
	for i, file := range s.files {
		content := must.Get(os.ReadFile(filepath.Join(root, file)))(t)
		text := addressIn.ReplaceAllStringFunc(string(content), func(address string) string {
			return r.address(t, address[strings.LastIndexByte(address, ':')+1:])
		})
		text = portIn.ReplaceAllStringFunc(text, func(setting string) string {
			r.metrics = r.address(t, strings.TrimPrefix(setting, "port: "))
			_, port, err := net.SplitHostPort(r.metrics)
			require.NoError(t, err)
			return "port: " + port
		})
		if strings.Contains(text, pyroscope) {
			text = strings.ReplaceAll(text, pyroscope, "http://"+r.address(t, backendPort))
		}
		if strings.Contains(text, "${env:KAFKA_BROKERS}") {
			r.address(t, brokerPort)
		}
		text = secretsIn.ReplaceAllString(stateIn.ReplaceAllString(text, "./"), "./")
		path := filepath.Join(r.directory, fmt.Sprintf("config-%d.yaml", i))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		r.configs = append(r.configs, path)
		r.text += text
	}
	if s.tls {
		r.certificate = writeSecrets(t, r.directory)
	}
	r.configs = append(r.configs, s.more...)
	if strings.Contains(r.text, "memory_limiter:") {
		r.configs = append(r.configs, fmt.Sprintf("yaml:processors: {memory_limiter: {limit_mib: %d, spike_limit_mib: %d}}", mib*75/100, mib*5/100))
	}
	return r
}

// address is the free address that stands for a port of the files.
func (r *resolved) address(t *testing.T, port string) string {
	t.Helper()
	if r.byPort[port] == "" {
		free := must.Get(gateway.FreeAddresses(t.Context(), 1))(t)
		r.byPort[port] = free[0]
	}
	return r.byPort[port]
}

// listening is the address of a listener, "" where the configuration has none.
func (r *resolved) listening(to listener) string {
	switch to {
	case everyListener:
		return r.directory // There is always one.
	case ownGRPC:
		return r.byPort["4317"]
	}
	if r.front != nil {
		return r.front.listening(to)
	}
	if to == scraped && r.name != "scrape" || to == discovered && r.name != "discovery" {
		return ""
	}
	return r.byPort[map[listener]string{pprofServer: "4040", otlpGRPC: "4317", otlpHTTP: "4318", pages: "4041", scraped: targetPort, discovered: targetPort}[to]]
}

// backend is the address that OTLP is sent to, "" where nothing is.
func (r *resolved) backend(t *testing.T) string {
	t.Helper()
	if strings.Contains(r.text, "${env:BACKEND_ENDPOINT}") || strings.Contains(r.text, "${env:GATEWAY_ENDPOINT}") {
		return r.address(t, backendPort)
	}
	return r.byPort[backendPort]
}

func (r *resolved) health() string {
	for _, port := range []string{"4042", "4045", "13133"} {
		if address := r.byPort[port]; address != "" {
			return "http://" + address
		}
	}
	return ""
}

// queued tells whether something stays on disk when the process ends.
func (r *resolved) queued() bool { return strings.Contains(r.text, "storage: file_storage") }

// sendsOTLP tells whether there is a backend that can be away.
func (r *resolved) sendsOTLP() bool { return strings.Contains(r.text, "otlp_grpc:") }

// takes tells whether a body can be sent to a configuration.
func (r *resolved) takes(b body) bool {
	if r.likeOthers && b.to != everyListener && b.to != ownGRPC {
		return false
	}
	if b.only != "" && b.only != r.name || (b.away || b.settings != "") && r.front != nil || r.listening(b.to) == "" || b.away && (!r.queued() || !r.sendsOTLP()) {
		return false
	}
	return !b.splunk() || r.takesLogs()
}

// takesLogs tells whether it takes the profiles of Splunk's agents.
func (r *resolved) takesLogs() bool {
	if r.front != nil {
		return r.front.takesLogs()
	}
	return strings.Contains(r.text, "splunk_log_profile:")
}

// TestConfigurations: each shipped configuration is attacked, or has no listener that those that are do not have.
func TestConfigurations(t *testing.T) {
	run, texts, ports := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range configurations {
		for _, file := range s.files {
			run[file] = true
			content := must.Get(os.ReadFile(filepath.Join(root, file)))(t)
			texts[string(content)] = true
			for _, port := range portsOf(t, file) {
				ports[port] = true
			}
		}
	}
	for _, directory := range []string{"config", "deploy"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, directory), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			file := must.Get(filepath.Rel(root, path))(t)
			content := must.Get(os.ReadFile(path))(t)
			switch {
			case run[file] || texts[string(content)] || !hasPipelines.Match(content): // The chart has copies.
			case notRun[file] != "":
				assert.Subset(t, slices.Collect(maps.Keys(ports)), portsOf(t, file), "%s listens where no configuration that is attacked does", file)
			default:
				t.Errorf("%s is not attacked", file)
			}
			return nil
		}))
	}
}

// hasPipelines matches a configuration that can run, also one inside another file.
var hasPipelines = regexp.MustCompile(`(?m)^ *pipelines:`)

// portsOf returns the ports of a file.
func portsOf(t *testing.T, file string) (ports []string) {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(root, file)))(t)
	for _, found := range slices.Concat(addressIn.FindAllSubmatch(content, -1), portIn.FindAllSubmatch(content, -1)) {
		ports = append(ports, string(found[1]))
	}
	return ports
}

func chosen(names ...string) (all []shipped) {
	for _, s := range configurations {
		if slices.Contains(names, s.name) {
			all = append(all, s)
		}
	}
	return all
}
