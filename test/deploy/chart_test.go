// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
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

// backend is what most values need.
const backend = "backend: {endpoint: 'profiles-backend.profiles.svc:4317'}"

// charts are the ways to install the chart, with values as in a file of --values.
var charts = map[string]string{
	"gateway":                 "{" + backend + "}",
	"gateway without scaling": "{" + backend + ", autoscaling: {enabled: false}, service: {type: LoadBalancer}}",
	"agents":                  "{" + backend + ", agent: {enabled: true, tolerations: [{operator: Exists}]}}",
	"agents that scrape":      "{" + backend + ", agent: {enabled: true, scrape: {enabled: true}}, tls: {secretName: certificate}}",
	"kafka":                   "{" + backend + ", kafka: {enabled: true, brokers: 'kafka.kafka.svc:9092'}, auth: {secretName: users}}",
	"kafka behind agents":     "{" + backend + ", kafka: {enabled: true, brokers: 'one.kafka.svc:9092,two.kafka.svc:9093'}, agent: {enabled: true}}",
	"pages":                   "{profileView: {enabled: true}}",
	"pages behind kafka":      "{profileView: {enabled: true}, kafka: {enabled: true, brokers: 'kafka.kafka.svc:9092'}}",
	"secrets": `{backend: {endpoint: 'profiles-backend.profiles.svc:4317', tls: {enabled: true, secretName: authority}, tokenSecretName: token},
		tls: {secretName: certificate}, auth: {secretName: users}, profileView: {enabled: true}}`,
	"monitoring and more": "{" + backend + `, dashboard: {enabled: true}, serviceMonitor: {enabled: true}, prometheusRule: {enabled: true},
		ingress: {enabled: true, hosts: [profiles.example.com]}, httpRoute: {enabled: true, parentRefs: [{name: public}]},
		gateway: {storageClass: fast, resources: {limits: {memory: 768Mi}}, config: {processors: {memory_limiter: {check_interval: 2s}}}}}`,
}

// loadChart reads the chart as Helm does.
func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(filepath.Join(root, chartDirectory))
	require.NoError(t, err)
	return loaded
}

// renderFiles makes the files of the chart, by their names, as `helm template` does.
func renderFiles(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	loaded := loadChart(t)
	all, err := chartutil.ToRenderValues(loaded, given, chartutil.ReleaseOptions{Name: "otelpprof", Namespace: releaseNamespace, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(loaded, all)
}

// renderChart makes the objects of the chart, as texts.
func renderChart(t *testing.T, values string) (texts []string) {
	t.Helper()
	files, err := renderFiles(t, values)
	require.NoError(t, err)
	for name, text := range files {
		if path.Base(name) == "NOTES.txt" {
			continue
		}
		for _, document := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
			if strings.TrimSpace(regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(document, "")) != "" {
				texts = append(texts, document)
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// decodeChart decodes each object strictly. Custom resources are those of TestChartRoutes and TestChartMonitoring.
func decodeChart(t *testing.T, values string) (r rendered) {
	t.Helper()
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	r.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: releaseNamespace}}) // by --create-namespace
	for _, text := range renderChart(t, values) {
		if isCustom(text) {
			continue
		}
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		require.NoError(t, err, text)
		r.add(object)
	}
	return r
}

// isCustom tells whether an object is a custom resource, whose type a cluster may lack.
func isCustom(text string) bool {
	return strings.Contains(text, "apiVersion: monitoring.coreos.com/") || strings.Contains(text, "apiVersion: gateway.networking.k8s.io/")
}

// TestChart renders each way to install the chart.
func TestChart(t *testing.T) {
	for name, values := range charts {
		t.Run(name, func(t *testing.T) { decodeChart(t, values).assertFits(t) })
	}
}

// TestChartObjects: what the options add is there, and the role is that of the manifests.
func TestChartObjects(t *testing.T) {
	plain := decodeChart(t, charts["gateway"])
	assert.Equal(t, all[*rbacv1.ClusterRole](render(t, "base"))[0].Rules, all[*rbacv1.ClusterRole](plain)[0].Rules)
	assert.Empty(t, all[*appsv1.DaemonSet](plain))
	assert.Empty(t, all[*networkingv1.NetworkPolicy](decodeChart(t, "{"+backend+", networkPolicy: {enabled: false}}")))
	assert.Len(t, all[*appsv1.DaemonSet](decodeChart(t, charts["agents"])), 1)

	more := decodeChart(t, charts["monitoring and more"])
	checksum := func(r rendered) string {
		return all[*appsv1.StatefulSet](r)[0].Spec.Template.Annotations["checksum/config"]
	}
	assert.NotEqual(t, checksum(plain), checksum(more), "a change of the configuration rolls the pods")
	assert.Equal(t, "fast", *all[*appsv1.StatefulSet](more)[0].Spec.VolumeClaimTemplates[0].Spec.StorageClassName)

	pages := decodeChart(t, charts["pages"])
	assert.EqualValues(t, 1, *all[*appsv1.StatefulSet](pages)[0].Spec.Replicas, "pages are in one pod")
	assert.Empty(t, all[*autoscalingv2.HorizontalPodAutoscaler](pages))
}

// TestChartWritten writes the objects of each variant to the directory that OTELPPROF_CHARTS names, for `make test-cluster` to
// apply, and to a temporary one without that. That cluster has no custom resources.
func TestChartWritten(t *testing.T) {
	directory := cmp.Or(os.Getenv("OTELPPROF_CHARTS"), t.TempDir())
	require.NoError(t, os.MkdirAll(directory, 0o755))
	for name, values := range charts {
		file := filepath.Join(directory, strings.ReplaceAll(name, " ", "-")+".yaml")
		texts := slices.DeleteFunc(renderChart(t, values), isCustom)
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(texts, "\n---\n")), 0o600))
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, len(charts), "each variant has a file of its own")
}
