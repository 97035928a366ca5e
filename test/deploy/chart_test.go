// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	chartDirectory   = "deploy/helm/otelcol-pprof"
	releaseNamespace = "otelpprof"
)

// charts are the ways to install the chart, with values as in a file of --values.
var charts = map[string]string{
	"gateway":                  "",
	"gateway without scaling":  "{autoscaling: {enabled: false}}",
	"agents":                   "{agent: {enabled: true, tolerations: [{operator: Exists}]}}",
	"kafka":                    "{kafka: {enabled: true}}",
	"kafka behind agents":      "{kafka: {enabled: true, brokers: 'one.kafka.svc:9092,two.kafka.svc:9093'}, agent: {enabled: true}}",
	"with monitoring and more": "{monitoring: {dashboard: {enabled: true}, alerts: {enabled: true, labels: {role: alerts}}}, gateway: {storageClass: fast, config: {processors: {memory_limiter: {check_interval: 2s}}}}}",
}

// renderChart makes the objects of the chart as `helm template` does, as texts.
func renderChart(t *testing.T, values string) (texts []string) {
	t.Helper()
	log.SetOutput(io.Discard) // it names each symbolic link
	defer log.SetOutput(os.Stderr)
	chart, err := loader.Load(filepath.Join(root, chartDirectory))
	require.NoError(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "otelpprof", Namespace: releaseNamespace, IsInstall: true}, chartutil.DefaultCapabilities)
	require.NoError(t, err)
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	require.NoError(t, err)
	for _, text := range files {
		for _, document := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
			if strings.TrimSpace(regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(document, "")) != "" {
				texts = append(texts, document)
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// decodeChart decodes each object strictly.
func decodeChart(t *testing.T, values string) (r rendered) {
	t.Helper()
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	r.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: releaseNamespace}}) // by --create-namespace
	for _, text := range renderChart(t, values) {
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		require.NoError(t, err, text)
		r.add(object)
	}
	return r
}

// TestChart renders each way to install the chart.
func TestChart(t *testing.T) {
	for name, values := range charts {
		t.Run(name, func(t *testing.T) { decodeChart(t, values).assertFits(t) })
	}
}

// TestChartValues: what the options add is there, and the role is that of the manifests.
func TestChartValues(t *testing.T) {
	plain := decodeChart(t, "")
	assert.Equal(t, all[*rbacv1.ClusterRole](render(t, "base"))[0].Rules, all[*rbacv1.ClusterRole](plain)[0].Rules)
	assert.Empty(t, all[*appsv1.DaemonSet](plain))
	assert.Empty(t, all[*networkingv1.NetworkPolicy](decodeChart(t, "{networkPolicy: {enabled: false}}")))
	assert.Len(t, all[*appsv1.DaemonSet](decodeChart(t, charts["agents"])), 1)

	more := decodeChart(t, charts["with monitoring and more"])
	found := 0
	for _, config := range all[*corev1.ConfigMap](more) {
		for file, text := range config.Data {
			switch file {
			case "otelcol-pprof-dashboard.json":
				found++
				assert.Equal(t, "1", config.Labels["grafana_dashboard"])
				assert.JSONEq(t, read(t, "deploy/monitoring/dashboard.json"), text)
			case "otelcol-pprof-alerts.yaml":
				found++
				assert.Equal(t, "alerts", config.Labels["role"])
				assert.YAMLEq(t, read(t, "deploy/monitoring/alerts.yaml"), text)
			}
		}
	}
	assert.Equal(t, 2, found)

	checksum := func(r rendered) string {
		return all[*appsv1.StatefulSet](r)[0].Spec.Template.Annotations["checksum/config"]
	}
	assert.NotEqual(t, checksum(plain), checksum(more), "a change of the configuration rolls the pods")
	assert.Equal(t, "fast", *all[*appsv1.StatefulSet](more)[0].Spec.VolumeClaimTemplates[0].Spec.StorageClassName)
}

// TestChartWritten writes the objects of each variant to the directory that OTELPPROF_CHARTS names, for `make test-cluster` to
// apply, and to a temporary one without that.
func TestChartWritten(t *testing.T) {
	directory := cmp.Or(os.Getenv("OTELPPROF_CHARTS"), t.TempDir())
	require.NoError(t, os.MkdirAll(directory, 0o755))
	for name, values := range charts {
		file := filepath.Join(directory, strings.ReplaceAll(name, " ", "-")+".yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(renderChart(t, values), "\n---\n")), 0o600))
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, len(charts), "each variant has a file of its own")
}
