// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// givenValues are values for each leaf of values.yaml, and what is in the objects only with them.
var givenValues = []struct{ values, want string }{
	{"{" + backend + ", image: {repository: registry.example.com/collector}}", "image: registry.example.com/collector:0.1.0"},
	{"{" + backend + ", image: {tag: 0.1.1}}", "image: ghcr.io/otelpprof/otelcol-pprof:0.1.1"},
	{"{" + backend + ", imagePullSecrets: [{name: registry}]}", "imagePullSecrets:\n        - name: registry"},
	{"{backend: {endpoint: 'other.svc:9317'}}", "- port: 9317"},
	{"{backend: {endpoint: 'other.svc:9317', tls: {enabled: true}}}", "--config=/etc/otelcol-pprof/option-backend-tls.yaml"},
	{"{backend: {endpoint: 'other.svc:9317', tls: {enabled: true, secretName: authority}}}", "{name: backend-ca, secret: {secretName: authority, defaultMode: 0440}}"},
	{"{backend: {endpoint: 'other.svc:9317', tls: {enabled: true}, tokenSecretName: token}}", `extensions: ["memory_budget","file_storage","kubernetes_access","health_check","bearertokenauth"]`},
	{"{profileView: {enabled: true}}", "exporters: [profile_view]"},
	{"{" + backend + ", profileView: {enabled: true}}", "exporters: [otlp_grpc, profile_view]"},
	{"{" + backend + ", autoscaling: {enabled: false}, gateway: {replicas: 5}}", "replicas: 5"},
	{"{" + backend + ", gateway: {resources: {limits: {memory: 1.5Gi}}}}", "value: 1228MiB"},
	{"{" + backend + ", gateway: {resources: {limits: {memory: 512Mi}}}}", "memory: 256Mi"},
	{"{" + backend + ", gateway: {resources: {requests: {memory: 2Gi}}}}", "requests:\n              cpu: 500m\n              memory: 2Gi"},
	{"{" + backend + ", gateway: {storage: 20Gi}}", "storage: 20Gi"},
	{"{" + backend + ", gateway: {storageClass: fast}}", "storageClassName: fast"},
	{"{" + backend + ", gateway: {config: {exporters: {otlp_grpc: {compression: zstd}}}}}", "compression: zstd"},
	{"{" + backend + ", autoscaling: {minReplicas: 3}}", "minReplicas: 3"},
	{"{" + backend + ", autoscaling: {maxReplicas: 30}}", "maxReplicas: 30"},
	{"{" + backend + ", autoscaling: {targetCPUUtilizationPercentage: 50}}", "averageUtilization: 50"},
	{"{" + backend + ", agent: {enabled: true}}", "kind: DaemonSet"},
	{"{" + backend + ", agent: {enabled: true, scrape: {enabled: true}}}", "field: spec.nodeName=${env:NODE_NAME}"},
	{"{" + backend + ", agent: {enabled: true, resources: {limits: {memory: 256Mi}}}}", "value: 204MiB"},
	{"{" + backend + ", agent: {enabled: true, nodeSelector: {kubernetes.io/os: linux}}}", "nodeSelector:\n        kubernetes.io/os: linux"},
	{"{" + backend + ", agent: {enabled: true, tolerations: [{operator: Exists}]}}", "- operator: Exists"},
	{"{" + backend + ", agent: {enabled: true, config: {extensions: {memory_budget: {limit_percentage: 30}}}}}", "limit_percentage: 30"},
	{"{" + backend + ", kafka: {enabled: true, brokers: 'one:9092,two:9093'}}", `name: KAFKA_BROKERS, value: "one:9092,two:9093"`},
	{"{" + backend + ", autoscaling: {enabled: false}, kafka: {enabled: true, brokers: 'one:9092', replicas: 4}}", "replicas: 4"},
	{"{" + backend + ", kafka: {enabled: true, brokers: 'one:9092', resources: {limits: {memory: 1Gi}}}}", "value: 819MiB"},
	{"{" + backend + ", kafka: {enabled: true, brokers: 'one:9092', config: {exporters: {kafka: {tls: {insecure: false}}}}}}", "insecure: false"},
	{"{" + backend + ", tls: {secretName: certificate}}", "{name: pprof, port: 4040, targetPort: pprof, appProtocol: https}"},
	{"{" + backend + ", auth: {secretName: users}}", "{name: auth, mountPath: /etc/otelcol-pprof-auth, readOnly: true}"},
	{"{" + backend + ", service: {type: LoadBalancer}}", "type: LoadBalancer"},
	{"{" + backend + ", service: {annotations: {example.com/internal: 'true'}}}", "annotations:\n    example.com/internal: \"true\""},
	{"{" + backend + ", ingress: {enabled: true, hosts: [profiles.example.com]}}", `host: "profiles.example.com"`},
	{"{" + backend + ", ingress: {enabled: true, hosts: [a.example.com], ingressClassName: nginx}}", "ingressClassName: nginx"},
	{"{" + backend + ", ingress: {enabled: true, hosts: [a.example.com], annotations: {example.com/size: 20m}}}", "example.com/size: 20m"},
	{"{" + backend + ", ingress: {enabled: true, hosts: [a.example.com], tls: [{secretName: public, hosts: [a.example.com]}]}}", "secretName: public"},
	{"{" + backend + ", httpRoute: {enabled: true, parentRefs: [{name: public}], hostnames: [a.example.com]}}", "hostnames:\n    - a.example.com"},
	{"{" + backend + ", podAnnotations: {example.com/team: performance}}", "example.com/team: performance"},
	{"{" + backend + ", extraEnvs: [{name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: token}}}]}", "key: token"},
	{"{" + backend + ", extraVolumes: [{name: more, secret: {secretName: more}}], extraVolumeMounts: [{name: more, mountPath: /etc/more}]}", "mountPath: /etc/more"},
	{"{" + backend + ", nodeSelector: {pool: observability}}", "nodeSelector:\n        pool: observability"},
	{"{" + backend + ", tolerations: [{key: dedicated, operator: Exists}]}", "key: dedicated"},
	{"{" + backend + ", affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}}", "podAntiAffinity"},
	{"{" + backend + ", networkPolicy: {enabled: true, monitoringNamespace: observability}}", "kubernetes.io/metadata.name: observability"},
	{"{" + backend + ", serviceMonitor: {enabled: true, labels: {release: prometheus}}}", "release: prometheus"},
	{"{" + backend + ", prometheusRule: {enabled: true, labels: {role: alerts}}}", "role: alerts"},
	{"{" + backend + ", dashboard: {enabled: true, labels: {grafana: main}}}", "grafana: main"},
}

// TestChartValues: Helm's linter and the client take each value, and it changes the objects. Every value is given once.
func TestChartValues(t *testing.T) {
	plain := strings.Join(renderChart(t, charts["gateway"]), "\n---\n")
	unused := leaves(t)
	for _, tt := range givenValues {
		t.Run(tt.values, func(t *testing.T) {
			assert.Contains(t, strings.Join(renderChart(t, tt.values), "\n---\n"), tt.want)
			assert.NotContains(t, plain, tt.want, "the objects always have this")
			decodeChart(t, tt.values)
			assertLint(t, tt.values)
		})
		var given map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(tt.values), &given))
		for path := range unused {
			if _, found := at(given, path); found {
				delete(unused, path)
			}
		}
	}
	assert.Empty(t, unused, "no test sets these values")
}

// assertLint runs `helm lint`. Its only complaint is that the chart has no icon.
func assertLint(t *testing.T, values string) {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	for _, message := range lint.All(filepath.Join(root, chartDirectory), given, releaseNamespace, true).Messages {
		assert.Less(t, message.Severity, support.WarningSev, message.Error())
	}
}

// TestChartLint lints the chart without values.
func TestChartLint(t *testing.T) { assertLint(t, "{}") }

// refusedValues are values that are refused, and a part of the error.
var refusedValues = map[string]string{
	"{}": "Set backend.endpoint",
	"{backend: {endpoint: 'backend:4317', tokenSecretName: token}}":                        "backend.tokenSecretName needs backend.tls.enabled",
	"{backend: {endpoint: 'backend:4317', tls: {secretName: authority}}}":                  "backend.tls.secretName needs backend.tls.enabled",
	"{backend: {endpoint: backend}}":                                                       "/backend/endpoint",
	"{backend: {endpoint: 'https://backend:4317'}}":                                        "/backend/endpoint",
	"{backend: 'backend:4317'}":                                                            "/backend",
	"{" + backend + ", gatway: {replicas: 5}}":                                             "gatway",
	"{" + backend + ", gateway: {replicsa: 5}}":                                            "replicsa",
	"{" + backend + ", gateway: {replicas: abc}}":                                          "/gateway/replicas",
	"{" + backend + ", gateway: {replicas: -1}}":                                           "/gateway/replicas",
	"{" + backend + ", gateway: {goMemoryLimit: 1GiB}}":                                    "goMemoryLimit",
	"{" + backend + ", gateway: {resources: {limits: {memory: 2GB}}}}":                     "/gateway/resources/limits/memory",
	"{" + backend + ", gateway: {resources: {limits: {memory: 2000000000}}}}":              "/gateway/resources/limits/memory",
	"{" + backend + ", gateway: {config: text}}":                                           "/gateway/config",
	"{" + backend + ", agent: {enabled: 'yes'}}":                                           "/agent/enabled",
	"{" + backend + ", agent: {scrape: {enabled: true}}}":                                  "agent.scrape.enabled needs agent.enabled",
	"{" + backend + ", agent: {enabled: true}, auth: {secretName: users}}":                 "exclude each other",
	"{" + backend + ", kafka: {enabled: true}}":                                            "kafka.enabled needs kafka.brokers",
	"{" + backend + ", kafka: {enabled: true, brokers: [one]}}":                            "/kafka/brokers",
	"{" + backend + ", kafka: {enabled: true, brokers: 'one, two'}}":                       "/kafka/brokers",
	"{" + backend + ", ingress: {enabled: true}}":                                          "ingress.enabled needs ingress.hosts",
	"{" + backend + ", ingress: {enabled: true, hosts: ['https://profiles.example.com']}}": "/ingress/hosts/0",
	"{" + backend + ", httpRoute: {enabled: true}}":                                        "httpRoute.enabled needs httpRoute.parentRefs",
	"{" + backend + ", service: {type: External}}":                                         "/service/type",
	"{" + backend + ", imagePullSecrets: [registry]}":                                      "/imagePullSecrets/0",
	"{" + backend + ", extraEnvs: [{value: text}]}":                                        "/extraEnvs/0",
	"{" + backend + ", podAnnotations: {example.com/number: 1}}":                           "/podAnnotations/example.com~1number",
	"{" + backend + ", networkPolicy: {monitoringNamespace: ''}}":                          "/networkPolicy/monitoringNamespace",
	"{" + backend + ", serviceMonitor: {enabled: true, interval: 10s}}":                    "interval",
	"{" + backend + ", autoscaling: {maxReplicas: 0}}":                                     "/autoscaling/maxReplicas",
}

// TestChartRefuses: a wrong value is an error that names it.
func TestChartRefuses(t *testing.T) {
	for values, want := range refusedValues {
		t.Run(values, func(t *testing.T) {
			_, err := renderFiles(t, values)
			require.Error(t, err)
			assert.Contains(t, strings.ReplaceAll(err.Error(), "'", ""), want)
		})
	}
	_, err := renderFiles(t, "{"+backend+", global: {}}")
	assert.NoError(t, err, "another chart has it as a dependency")
}

// leaves returns the values of values.yaml that have no schema of parts of their own, by their paths.
func leaves(t *testing.T) map[string]any {
	t.Helper()
	var values, schema map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, chartDirectory, "values.yaml")), &values))
	require.NoError(t, json.Unmarshal([]byte(read(t, chartDirectory, "values.schema.json")), &schema))
	found := map[string]any{}
	var collect func(path string, part map[string]any)
	collect = func(path string, part map[string]any) {
		if reference, is := part["$ref"].(string); is && strings.HasSuffix(reference, "/labelled") {
			part = schema["definitions"].(map[string]any)["labelled"].(map[string]any)
		}
		parts, branches := part["properties"].(map[string]any)
		if !branches {
			value, exists := at(values, path)
			assert.True(t, exists, "%s has no default", path)
			found[path] = value
			return
		}
		assert.Equal(t, false, part["additionalProperties"], path)
		for name, below := range parts {
			if name != "global" {
				collect(strings.TrimPrefix(path+"."+name, "."), below.(map[string]any))
			}
		}
	}
	collect("", schema)
	return found
}

// at returns the value at a path.
func at(values map[string]any, path string) (value any, found bool) {
	value = values
	for name := range strings.SplitSeq(path, ".") {
		below, isMap := value.(map[string]any)
		if !isMap {
			return nil, false
		}
		if value, found = below[name]; !found {
			return nil, false
		}
	}
	return value, true
}

// TestChartReadme: values.yaml, the schema and the README have the same values, with the same defaults.
func TestChartReadme(t *testing.T) {
	documented := map[string]any{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(read(t, chartDirectory, "README.md"), -1) {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(row[2]), &value))
		assert.NotContains(t, documented, row[1])
		documented[row[1]] = value
	}
	assert.Equal(t, leaves(t), documented)
}
