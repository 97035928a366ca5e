// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	sigs "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "copy files into the chart anew")

// copies are files of the chart, which has to be complete by itself, and what they are copies of.
var copies = map[string]string{
	"alerts.yaml":    "deploy/monitoring/alerts.yaml",
	"dashboard.json": "deploy/monitoring/dashboard.json",
	"gateway.yaml":   "deploy/kubernetes/base/config.yaml",
	"front.yaml":     "deploy/kubernetes/overlays/kafka/front-config.yaml",
	"back.yaml":      "deploy/kubernetes/overlays/kafka/back-config.yaml",
}

// TestChartFiles compares the copies. -update copies anew. Symbolic links are refused: packages and some checkouts lack what they lead to.
func TestChartFiles(t *testing.T) {
	for name, source := range copies {
		file := filepath.Join(chartDirectory, "files", name)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(read(t, source)), 0o644))
		}
		if read(t, source) != read(t, file) {
			t.Errorf("%s is not %s: run `go -C test/deploy test -run TestChartFiles . -update`", file, source)
		}
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		assert.Zero(t, entry.Type()&fs.ModeSymlink, path)
		return nil
	}))
}

// TestChartScrapes: an agent has the rules of config/scrape-kubernetes.yaml, but for the shards, since a node has one agent.
func TestChartScrapes(t *testing.T) {
	rules := func(file string) []any {
		var config map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(read(t, file)), &config))
		found, _ := at(config, "extensions.target_discovery.relabel_configs")
		return found.([]any)
	}
	want := slices.DeleteFunc(rules("config/scrape-kubernetes.yaml"), func(rule any) bool {
		text, err := yaml.Marshal(rule)
		require.NoError(t, err)
		return strings.Contains(string(text), "__tmp_shard")
	})
	assert.Equal(t, want, rules(chartDirectory+"/files/scrape.yaml"))
}

// TestChartImage: the image is the one that a release pushes.
func TestChartImage(t *testing.T) {
	var release struct {
		Dockers []struct{ Images []string } `yaml:"dockers_v2"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release))
	set := all[*appsv1.StatefulSet](decodeChart(t, charts["gateway"]))[0]
	image := set.Spec.Template.Spec.Containers[0].Image
	assert.Equal(t, release.Dockers[0].Images[0]+":"+loadChart(t).AppVersion(), image)
}

// custom returns the custom resource of a kind, decoded strictly.
func custom[T any](t *testing.T, values, kind string) (resource T) {
	t.Helper()
	texts := slices.DeleteFunc(renderChart(t, values), func(text string) bool { return !strings.Contains(text, "\nkind: "+kind+"\n") })
	require.Len(t, texts, 1)
	require.NoError(t, sigs.UnmarshalStrict([]byte(texts[0]), &resource))
	return resource
}

// object is what all custom resources have.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

// TestChartMonitoring: the custom resources have the fields that their operator documents. The job that the ServiceMonitor makes is the
// one that the alerts look for.
func TestChartMonitoring(t *testing.T) {
	values := charts["monitoring and more"]
	monitor := custom[struct {
		object `json:",inline"`
		Spec   struct {
			JobLabel  string                                  `json:"jobLabel"`
			Selector  struct{ MatchLabels map[string]string } `json:"selector"`
			Endpoints []struct {
				Port string `json:"port"`
			} `json:"endpoints"`
		} `json:"spec"`
	}](t, values, "ServiceMonitor")
	assert.Equal(t, "monitoring.coreos.com/v1", monitor.APIVersion)
	var jobs []string
	for _, service := range all[*corev1.Service](decodeChart(t, values)) {
		for _, port := range service.Spec.Ports {
			if port.Name == monitor.Spec.Endpoints[0].Port && covered(monitor.Spec.Selector.MatchLabels, service.Labels) {
				jobs = append(jobs, service.Labels[monitor.Spec.JobLabel])
			}
		}
	}
	assert.Equal(t, []string{"otelpprof"}, jobs)
	alerts := read(t, "deploy/monitoring/alerts.yaml")
	job := regexp.MustCompile(`up\{job=~"(.*?)"\}`).FindStringSubmatch(alerts)
	require.NotNil(t, job)
	assert.Regexp(t, "^("+job[1]+")$", jobs[0])

	rule := custom[struct {
		object `json:",inline"`
		Spec   map[string]any `json:"spec"`
	}](t, values, "PrometheusRule")
	spec, err := sigs.Marshal(rule.Spec)
	require.NoError(t, err)
	_, errs := rulefmt.Parse(spec, false)
	assert.Empty(t, errs)
	assert.YAMLEq(t, alerts, string(spec))

	for _, config := range all[*corev1.ConfigMap](decodeChart(t, values)) {
		if text, found := config.Data["otelcol-pprof-dashboard.json"]; found {
			assert.Equal(t, "1", config.Labels["grafana_dashboard"])
			assert.JSONEq(t, read(t, "deploy/monitoring/dashboard.json"), text)
			return
		}
	}
	assert.Fail(t, "no dashboard")
}

// TestChartRoutes: Ingress and HTTPRoute lead the same paths to the same ports of the Service for senders.
func TestChartRoutes(t *testing.T) {
	values := charts["monitoring and more"]
	objects := decodeChart(t, values)
	ports := map[string]int32{}
	for _, service := range all[*corev1.Service](objects) {
		if service.Name == "otelpprof" {
			for _, port := range service.Spec.Ports {
				ports[port.Name] = port.Port
			}
		}
	}
	byIngress := map[string]int32{}
	for _, path := range all[*networkingv1.Ingress](objects)[0].Spec.Rules[0].HTTP.Paths {
		assert.Equal(t, "otelpprof", path.Backend.Service.Name)
		byIngress[path.Path] = ports[path.Backend.Service.Port.Name]
	}
	assert.Equal(t, map[string]int32{
		"/": 4040, "/v1development": 4318, "/v1/logs": 4318, "/v1/metrics": 4318, "/v1/traces": 4318,
	}, byIngress)

	route := custom[struct {
		object `json:",inline"`
		Spec   struct {
			ParentRefs []map[string]string `json:"parentRefs"`
			Rules      []struct {
				Matches []struct {
					Path struct{ Type, Value string } `json:"path"`
				} `json:"matches"`
				BackendRefs []struct {
					Name string `json:"name"`
					Port int32  `json:"port"`
				} `json:"backendRefs"`
			} `json:"rules"`
		} `json:"spec"`
	}](t, values, "HTTPRoute")
	assert.Equal(t, "gateway.networking.k8s.io/v1", route.APIVersion)
	byRoute := map[string]int32{}
	for _, rule := range route.Spec.Rules {
		assert.Equal(t, "otelpprof", rule.BackendRefs[0].Name)
		if len(rule.Matches) == 0 {
			byRoute["/"] = rule.BackendRefs[0].Port
		}
		for _, match := range rule.Matches {
			assert.Equal(t, "PathPrefix", match.Path.Type)
			byRoute[match.Path.Value] = rule.BackendRefs[0].Port
		}
	}
	assert.Equal(t, byIngress, byRoute)
}

// TestChartNotes: they say where senders connect, and how to see the pages.
func TestChartNotes(t *testing.T) {
	for values, want := range map[string]string{
		charts["gateway"]:            "http://otelpprof.otelpprof.svc:4040",
		charts["agents that scrape"]: "https://otelpprof-agent.otelpprof.svc:4040",
		charts["pages"]:              "port-forward statefulset/otelpprof 4041",
	} {
		files, err := renderFiles(t, values)
		require.NoError(t, err)
		assert.Contains(t, files["otelcol-pprof/templates/NOTES.txt"], want)
	}
}
