// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// pod is what kubernetes_sd tells of one port of a pod, with annotations.
func pod(address, portName string, annotations ...string) model.LabelSet {
	set := model.LabelSet{
		"__address__": model.LabelValue(address), "__meta_kubernetes_namespace": "shop",
		"__meta_kubernetes_pod_name": "checkout-5d9c-x", "__meta_kubernetes_pod_uid": "u-1", "__meta_kubernetes_pod_phase": "Running",
		"__meta_kubernetes_pod_node_name": "node-1", "__meta_kubernetes_pod_ip": "10.0.0.1", "__meta_kubernetes_pod_container_name": "app",
		"__meta_kubernetes_pod_container_id":        "containerd://abc",
		"__meta_kubernetes_pod_container_port_name": model.LabelValue(portName), "__meta_kubernetes_pod_container_init": "false",
		"__meta_kubernetes_pod_controller_kind": "ReplicaSet", "__meta_kubernetes_pod_controller_name": "checkout-5d9c",
		"__meta_kubernetes_pod_label_pod_template_hash": "5d9c",
	}
	for i := 0; i < len(annotations); i += 2 {
		name := strings.NewReplacer(".", "_", "/", "_").Replace(annotations[i])
		set[model.LabelName("__meta_kubernetes_pod_annotation_"+name)] = model.LabelValue(annotations[i+1])
	}
	return set
}

// TestAlloyAnnotations: the annotations that Alloy documents, by the rules of the shipped configuration.
func TestAlloyAnnotations(t *testing.T) {
	t.Parallel()
	const prefix = "profiles.grafana.com/"
	for name, test := range map[string]struct {
		annotations []string
		portName    string
		want        *discovery.Target
	}{
		"nothing":  {},
		"scrape":   {[]string{"cpu.scrape", "true"}, "", &discovery.Target{Profiles: map[string]discovery.Profile{"cpu": {}}}},
		"false":    {[]string{"cpu.scrape", "false"}, "", nil},
		"not true": {[]string{"cpu.scrape", "untrue"}, "", nil},
		"some": {[]string{"cpu.scrape", "true", "memory.scrape", "true", "block.scrape", "false"}, "", &discovery.Target{
			Profiles: map[string]discovery.Profile{"cpu": {}, "memory": {}, "block": {Skip: true}},
		}},
		"port, path and scheme": {
			[]string{"memory.scrape", "true", "memory.port", "8080", "memory.path", "/mem", "memory.scheme", "https"},
			"",
			&discovery.Target{Profiles: map[string]discovery.Profile{"memory": {Port: "8080", Path: "/mem", Scheme: "https"}}},
		},
		"name of this port":    {[]string{"mutex.scrape", "true", "mutex.port_name", "debug"}, "debug", &discovery.Target{Profiles: map[string]discovery.Profile{"mutex": {}}}},
		"name of another port": {[]string{"mutex.scrape", "true", "mutex.port_name", "debug"}, "http", nil},
		"names of two ports": {[]string{"mutex.scrape", "true", "mutex.port_name", "debug", "goroutine.scrape", "true"}, "http", &discovery.Target{
			Profiles: map[string]discovery.Profile{"goroutine": {}, "mutex": {Skip: true}},
		}},
		"settings alone": {[]string{"cpu.scrape", "true", "memory.path", "/mem"}, "", &discovery.Target{
			Profiles: map[string]discovery.Profile{"cpu": {}, "memory": {Path: "/mem", Skip: true}},
		}},
	} {
		var annotations []string
		for i := 0; i < len(test.annotations); i += 2 {
			annotations = append(annotations, prefix+test.annotations[i], test.annotations[i+1])
		}
		targets, made := applied(t, shipped(t), nil, pod("10.0.0.1:6060", test.portName, annotations...))
		require.NoError(t, made.firstInvalid, name)
		if test.want == nil {
			assert.Empty(t, targets, name)
			assert.Equal(t, 1, made.dropped, name)
			continue
		}
		require.Len(t, targets, 1, name)
		assert.Equal(t, test.want.Profiles, targets[0].Profiles, name)
		assert.True(t, targets[0].Listed, name)
		assert.Equal(t, "10.0.0.1:6060", targets[0].Address, name)
	}
}

// TestOwnAnnotations: those of this project, by the same rules.
func TestOwnAnnotations(t *testing.T) {
	t.Parallel()
	targets, _ := applied(t, shipped(t), nil, pod("10.0.0.1:80", "http", "pprof.io/scrape", "true", "pprof.io/port", "6060", "pprof.io/path", "/p", "pprof.io/scheme", "https"))
	require.Len(t, targets, 1)
	assert.Equal(t, &discovery.Target{
		Scheme: "https", Address: "10.0.0.1:6060", Origin: "10.0.0.1:80", PathPrefix: "/p",
		Attributes: map[string]string{
			"service.name": "checkout", "service.namespace": "shop", "service.instance.id": "shop.checkout-5d9c-x.app",
			"k8s.namespace.name": "shop", "k8s.pod.name": "checkout-5d9c-x", "k8s.pod.uid": "u-1", "k8s.pod.ip": "10.0.0.1",
			"k8s.node.name": "node-1", "k8s.container.name": "app", "container.id": "abc",
			"k8s.replicaset.name": "checkout-5d9c", "k8s.deployment.name": "checkout",
		},
	}, targets[0])
	targets, _ = applied(t, shipped(t), nil, pod("fd00::1", "", "pprof.io/scrape", "true", "pprof.io/port", "6060"))
	require.Len(t, targets, 1)
	assert.Equal(t, "[fd00::1]:6060", targets[0].Address)
	targets, _ = applied(t, shipped(t), nil,
		pod("10.0.0.1:80", "http", "pprof.io/scrape", "true", "pprof.io/port_name", "debug"),
		pod("10.0.0.1:6060", "debug", "pprof.io/scrape", "true", "pprof.io/port_name", "debug"))
	require.Len(t, targets, 1)
	assert.Equal(t, "10.0.0.1:6060", targets[0].Address)
}

// TestScrapeConfigFragment: rules as they stand in a scrape_config of Prometheus.
func TestScrapeConfigFragment(t *testing.T) {
	t.Parallel()
	const fragment = `
kubernetes_sd_configs:
  - role: pod
    namespaces: {names: [shop]}
    selectors: [{role: pod, label: "tier=web"}]
relabel_configs:
  - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape]
    action: keep
    regex: true
  - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_path]
    action: replace
    target_label: __metrics_path__
    regex: (.+)
  - source_labels: [__address__, __meta_kubernetes_pod_annotation_prometheus_io_port]
    action: replace
    regex: ([^:]+)(?::\d+)?;(\d+)
    replacement: $1:$2
    target_label: __address__
  - action: labelmap
    regex: __meta_kubernetes_pod_label_(.+)
  - action: labelmap
    regex: __meta_kubernetes_pod_annotation_prometheus_io_param_(.+)
    replacement: __param_$1
  - source_labels: [__meta_kubernetes_namespace]
    action: replace
    target_label: namespace
  - source_labels: [__meta_kubernetes_pod_name]
    target_label: Pod
    action: lowercase
  - target_label: job
    replacement: kubernetes-pods
  - target_label: __scrape_interval__
    replacement: 1m
  - regex: pod_template_hash
    action: labeldrop
  - {source_labels: [namespace], regex: kube-system, action: drop}
`
	yes, no := pod("10.0.0.1:80", "http", "prometheus.io/scrape", "true", "prometheus.io/port", "9102", "prometheus.io/path", "/m", "prometheus.io/param_gc", "1"), pod("10.0.0.2:80", "http")
	yes["__meta_kubernetes_pod_label_app"] = "checkout"
	targets, made := applied(t, fragment, model.LabelSet{"team": "a", "__scheme__": "https"}, yes, no)
	require.Len(t, targets, 1)
	assert.Equal(t, 1, made.dropped)
	got := targets[0]
	assert.Equal(t, "10.0.0.1:9102", got.Address)
	assert.Equal(t, "https", got.Scheme)
	assert.Equal(t, time.Minute, got.Interval)
	assert.Equal(t, map[string]string{"gc": "1"}, got.Params)
	assert.Empty(t, got.PathPrefix, "the path of metrics is none of profiles")
	for name, value := range map[string]string{"app": "checkout", "namespace": "shop", "Pod": "checkout-5d9c-x", "service.name": "kubernetes-pods", "team": "a", "k8s.namespace.name": "shop"} {
		assert.Equal(t, value, got.Attributes[name], name)
	}
	for name := range got.Attributes {
		assert.NotContains(t, []string{"job", "pod_template_hash", "__metrics_path__"}, name)
	}
}

// TestServiceName: the name of the service, by precedence.
func TestServiceName(t *testing.T) {
	t.Parallel()
	labels := pod("10.0.0.1:80", "")
	for _, step := range []struct{ label, value, want string }{
		{"", "", "checkout"},
		{"__meta_kubernetes_pod_label_app_kubernetes_io_name", "a", "a"},
		{"__meta_kubernetes_pod_label_app_kubernetes_io_instance", "b", "b"},
		{"__meta_kubernetes_pod_annotation_pyroscope_io_service_name", "c", "c"},
		{"__meta_kubernetes_pod_annotation_profiles_grafana_com_service_name", "d", "d"},
		{"__meta_kubernetes_pod_annotation_resource_opentelemetry_io_service_name", "e", "e"},
		{"job", "f", "f"},
		{"service_name", "g", "g"},
		{"service.name", "h", "h"},
	} {
		labels = maps.Clone(labels)
		if step.label != "" {
			labels[model.LabelName(step.label)] = model.LabelValue(step.value)
		}
		targets, _ := applied(t, "file_sd_configs: [{files: [x.json]}]", nil, labels)
		require.Len(t, targets, 1)
		assert.Equal(t, step.want, targets[0].Attributes["service.name"], step.label)
	}
	targets, _ := applied(t, "file_sd_configs: [{files: [x.json]}]", nil, model.LabelSet{"__address__": "a:1", "instance": "i"})
	assert.Equal(t, map[string]string{"service.instance.id": "i"}, targets[0].Attributes)
}

// TestShards: of three replicas each has its part of the pods, none is in two, and all are somewhere.
func TestShards(t *testing.T) {
	t.Parallel()
	const pods = 300
	scraped := map[string]int{}
	for shard := range 3 {
		text := shipped(t, "${env:SCRAPE_SHARDS:-1}", "3", "${env:SCRAPE_SHARD:-0}", strconv.Itoa(shard))
		var sets []model.LabelSet
		for i := range pods {
			// Two containers, and an annotation that makes one target of both.
			for _, port := range []string{"80", "9000"} {
				set := pod(fmt.Sprintf("10.0.%d.%d:%s", i/250, i%250, port), "", "pprof.io/scrape", "true", "pprof.io/port", "6060")
				set["__meta_kubernetes_pod_uid"] = model.LabelValue(fmt.Sprintf("7b1c-%d", i))
				sets = append(sets, set)
			}
		}
		targets, _ := applied(t, text, nil, sets...)
		own := map[string]bool{}
		for _, target := range targets {
			own[target.Address] = true
		}
		assert.InDelta(t, pods/3, len(own), pods/10)
		for address := range own {
			scraped[address]++
		}
	}
	assert.Len(t, scraped, pods)
	for address, replicas := range scraped {
		assert.Equal(t, 1, replicas, address)
	}
}

// BenchmarkRelabel is what the rules of the shipped configuration cost for each target.
func BenchmarkRelabel(b *testing.B) {
	const pods = 1000
	var sets []model.LabelSet
	for i := range pods {
		sets = append(sets, pod(fmt.Sprintf("10.0.%d.%d:6060", i/250, i%250), "", "profiles.grafana.com/cpu.scrape", "true", "profiles.grafana.com/memory.scrape", "true"))
	}
	text := shipped(b)
	b.ReportAllocs()
	for b.Loop() {
		targets, _ := applied(b, text, nil, sets...)
		require.Len(b, targets, pods)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*pods), "us/target")
}
