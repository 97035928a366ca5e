// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// ebpfChanges gives config/ebpf.yaml free addresses, and batches that do not wait for long.
const ebpfChanges = `yaml:
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %[1]s}
      http: {endpoint: %[2]s}
processors:
  profile_deduplicator: {batch: {timeout: 50ms}}
exporters:
  profile_view: {endpoint: %[3]s}
  pprof/pyroscope: {http: {endpoint: %[5]s/push}}
extensions:
  health_check: {endpoint: %[4]s}
service:
  telemetry: {metrics: {level: none, readers: []}}
`

// ebpfGateway is a gateway with config/ebpf.yaml.
type ebpfGateway struct {
	otlp, pages, directory string
	pyroscope              *route
}

// startEBPF starts a gateway, with more settings.
func startEBPF(t *testing.T, more ...string) *ebpfGateway {
	t.Helper()
	config := must.Get(filepath.Abs("../../config/ebpf.yaml"))(t)
	b := startBackends(t)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 4))(t)
	g := &ebpfGateway{otlp: addresses[0], pages: addresses[2], directory: t.TempDir(), pyroscope: b.push}
	gatewaytest.Run(t, gateway.Options{
		Configs:   append([]string{config, fmt.Sprintf(ebpfChanges, addresses[0], addresses[1], addresses[2], addresses[3], b.http.URL)}, more...),
		HealthURL: "http://" + addresses[3],
		Directory: g.directory,
	})
	return g
}

// requireEvents waits for so many events of each service in Pyroscope, in the files and on the pages.
func (g *ebpfGateway) requireEvents(t *testing.T, want map[string]int64) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, g.pushed(c)) }, within, pollEvery, "Pyroscope")
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, g.written(c)) }, within, pollEvery, "files")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		page := gatewaytest.Send(c, http.MethodGet, "http://"+g.pages+"/profiles", nil).Text
		for service := range want {
			assert.Contains(c, page, service)
		}
	}, within, pollEvery, "pages")
}

// pushed are the events that Pyroscope got, by service.
func (g *ebpfGateway) pushed(t assert.TestingT) map[string]int64 {
	g.pyroscope.mu.Lock()
	defer g.pyroscope.mu.Unlock()
	assert.Empty(t, g.pyroscope.faults)
	sums := map[string]int64{}
	for _, s := range g.pyroscope.took {
		var events int64
		_, err := fmt.Sscanf(s.totals, "samples/count=%d", &events)
		assert.NoError(t, err, s.totals)
		assert.Equal(t, "process_cpu", s.name)
		sums[s.labels["service_name"]] += events
	}
	return sums
}

// written are the events of the files, by the directory of the service.
func (g *ebpfGateway) written(t assert.TestingT) map[string]int64 {
	sums := map[string]int64{}
	root := filepath.Join(g.directory, "profiles")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".pb.gz") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, err := profile.ParseData(content)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		for _, sample := range p.Sample {
			sums[strings.Split(name, string(filepath.Separator))[0]] += sample.Value[0]
		}
		return err
	})
	assert.NoError(t, err)
	return sums
}

// eventsByService counts the events of messages by the names that docs/ebpf.md promises.
func eventsByService(messages ...pprofile.Profiles) map[string]int64 {
	sums := map[string]int64{}
	for _, pd := range messages {
		for _, resource := range pd.ResourceProfiles().All() {
			for _, scope := range resource.ScopeProfiles().All() {
				for _, p := range scope.Profiles().All() {
					for _, sample := range p.Samples().All() {
						executable := attributeOf(pd.Dictionary(), sample, "process.executable.name")
						sums[serviceOf(resource.Resource().Attributes(), executable)] += int64(sample.TimestampsUnixNano().Len())
					}
				}
			}
		}
	}
	return sums
}

func attributeOf(d pprofile.ProfilesDictionary, sample pprofile.Sample, key string) string {
	for _, i := range sample.AttributeIndices().All() {
		if a := d.AttributeTable().At(int(i)); d.StringTable().At(int(a.KeyStrindex())) == key {
			return a.Value().Str()
		}
	}
	return ""
}

func serviceOf(resource pcommon.Map, executable string) string {
	of := func(key string) string {
		value, _ := resource.AsRaw()[key].(string)
		return value
	}
	if name := of("service.name"); name != "" && name != of("container.id") {
		return name
	}
	return cmp.Or(of("k8s.deployment.name"), of("k8s.container.name"), of("container.name"), executable, of("container.id"), "kernel")
}

// TestEBPF sends what an eBPF profiler would send: one resource for each container and one for the host, with the samples of
// several processes.
func TestEBPF(t *testing.T) {
	g := startEBPF(t)
	m := newHostMessage()
	m.container(map[string]string{"container.id": "4a1f", "k8s.deployment.name": "checkout", "k8s.container.name": "app"}, "java", "sh")
	m.container(map[string]string{"container.id": "5b2e", "k8s.container.name": "proxy"}, "envoy")
	m.container(map[string]string{"container.id": "6c3d", "container.name": "database"}, "postgres", "postgres")
	m.container(map[string]string{"container.id": "7d4c", "service.name": "7d4c", "service.instance.id": "7d4c"}, "redis-server")
	m.container(map[string]string{"container.id": "8e5b", "service.name": "billing"}, "node")
	m.container(map[string]string{"container.id": "9f6a"}, "")
	m.container(map[string]string{"container.id": "", "host.name": "node-1"}, "sshd", "cron", "sshd", "")
	want := map[string]int64{
		"checkout": 1 + 2, "proxy": 1, "database": 1 + 2, "redis-server": 1, "billing": 1, "9f6a": 1, "sshd": 1 + 3, "cron": 2, "kernel": 4,
	}
	require.Equal(t, want, eventsByService(m.pd))
	otlpsink.Send(t, g.otlp, m.pd)
	g.requireEvents(t, want)
	for _, s := range g.pyroscope.took {
		if s.labels["service_name"] == "sshd" {
			assert.Equal(t, "node-1", s.labels["host.name"])
			assert.Equal(t, "/usr/bin/sshd", s.labels["process.executable.path"])
			assert.NotContains(t, s.content, "thread.name")
		}
	}
}

// TestEBPFCaptures sends what eBPF profilers sent.
func TestEBPFCaptures(t *testing.T) {
	var messages []pprofile.Profiles
	for _, message := range profiletest.CorpusMessages(t) {
		if !strings.HasSuffix(message.Name, ".json") {
			messages = append(messages, message.Profiles)
		}
	}
	g := startEBPF(t)
	want := eventsByService(messages...)
	for _, service := range []string{"etcd", "kube-apiserver", "java", "node", "apt-get", "kernel"} {
		assert.Contains(t, want, service)
	}
	otlpsink.Send(t, g.otlp, messages...)
	g.requireEvents(t, want)
}

// hostMessage is a message of a profiler of a whole host.
type hostMessage struct {
	pd    pprofile.Profiles
	stack int32
}

func newHostMessage() *hostMessage {
	m := &hostMessage{pd: pprofile.NewProfiles(), stack: 1}
	d := m.pd.Dictionary()
	d.StringTable().FromRaw([]string{
		"", "samples", "count", "cpu", "nanoseconds", "work", "process.executable.name", "process.executable.path", "thread.name",
	})
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(5)
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().Append(1)
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	return m
}

// container adds a resource with one sample for each executable: the first has one event, the second two, and so on.
func (m *hostMessage) container(attributes map[string]string, executables ...string) {
	resource := m.pd.ResourceProfiles().AppendEmpty()
	for key, value := range attributes {
		resource.Resource().Attributes().PutStr(key, value)
	}
	p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{byte(m.pd.ResourceProfiles().Len())})
	p.SampleType().SetTypeStrindex(1)
	p.SampleType().SetUnitStrindex(2)
	p.PeriodType().SetTypeStrindex(3)
	p.PeriodType().SetUnitStrindex(4)
	p.SetPeriod(50_000_000)
	p.SetTime(1_770_364_246_000_000_000)
	p.SetDurationNano(5_000_000_000)
	for i, executable := range executables {
		sample := p.Samples().AppendEmpty()
		sample.SetStackIndex(m.stack)
		m.attribute(sample, 8, fmt.Sprint("worker-", i))
		if executable != "" {
			m.attribute(sample, 6, executable)
			m.attribute(sample, 7, "/usr/bin/"+executable)
		}
		for event := range i + 1 {
			sample.TimestampsUnixNano().Append(uint64(p.Time()) + uint64(event))
		}
	}
}

func (m *hostMessage) attribute(sample pprofile.Sample, key int32, value string) {
	d := m.pd.Dictionary()
	a := d.AttributeTable().AppendEmpty()
	a.SetKeyStrindex(key)
	a.Value().SetStr(value)
	sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
}
