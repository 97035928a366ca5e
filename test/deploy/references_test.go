// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// TestManifests: what refers to something else in the manifests finds it, and both agree with the configuration of the
// Collector, which the binary itself accepts.
func TestManifests(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			render(t, overlay).assertFits(t)
		})
	}
}

// assertFits compares the objects with each other and with the configurations of the Collector in them.
func (r rendered) assertFits(t *testing.T) {
	t.Helper()
	for _, w := range r.workloads {
		t.Run(w.name, func(t *testing.T) {
			texts := w.configurations(t, r)
			environment := w.environment(t)
			validate(t, environment, texts...)
			c := load(t, environment, texts...)
			w.assertPorts(t, c)
			w.assertFiles(t, c)
			w.assertAllowedOut(t, r, c)
			w.assertProbes(t, c)
			w.assertBounds(t, c)
			w.assertRestricted(t)
			w.assertToken(t, c)
			w.assertStops(t)
			assert.True(t, covered(w.selector, w.template.Labels), "the selector misses its own pods")
			assert.True(t, has[*corev1.ServiceAccount](r, w.template.Spec.ServiceAccountName))
		})
	}
	r.assertServices(t)
	r.assertScaling(t)
	r.assertIngress(t)
	r.assertRoles(t)
}

// configurations are the texts of the files that --config names, in their order.
func (w workload) configurations(t *testing.T, r rendered) (texts []string) {
	t.Helper()
	container := w.container(t)
	assert.Contains(t, container.Args, gate)
	for _, argument := range container.Args {
		file, isConfig := strings.CutPrefix(argument, "--config=")
		if !isConfig {
			continue
		}
		volume := w.volumeOf(t, path.Dir(file))
		require.NotNil(t, volume.ConfigMap, file)
		found := false
		for _, configMap := range all[*corev1.ConfigMap](r) {
			if configMap.Name == volume.ConfigMap.Name {
				require.Contains(t, configMap.Data, path.Base(file))
				texts = append(texts, configMap.Data[path.Base(file)])
				found = true
			}
		}
		require.True(t, found, "no ConfigMap %s", volume.ConfigMap.Name)
	}
	require.NotEmpty(t, texts)
	return texts
}

// volumeOf returns what is mounted at a directory or above it.
func (w workload) volumeOf(t *testing.T, directory string) corev1.VolumeSource {
	t.Helper()
	for _, mount := range w.container(t).VolumeMounts {
		if directory != mount.MountPath && !strings.HasPrefix(directory, mount.MountPath+"/") {
			continue
		}
		for _, volume := range w.template.Spec.Volumes {
			if volume.Name == mount.Name {
				return volume.VolumeSource
			}
		}
		for _, claim := range w.claims {
			if claim.Name == mount.Name {
				return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}
			}
		}
		require.Fail(t, "a mount without a volume", mount.Name)
	}
	require.Fail(t, "nothing is mounted", directory)
	return corev1.VolumeSource{}
}

// assertPorts: the container has the ports that the Collector listens on, and no other.
func (w workload) assertPorts(t *testing.T, c collector) {
	t.Helper()
	var ports []int
	for _, port := range w.container(t).Ports {
		ports = append(ports, int(port.ContainerPort))
	}
	slices.Sort(ports)
	assert.Equal(t, c.listens(t), ports)
}

// assertFiles: what the Collector writes lies on a volume of its own, what it reads comes from a Secret.
func (w workload) assertFiles(t *testing.T, c collector) {
	t.Helper()
	directories, inputs := c.files()
	for _, directory := range directories {
		assert.NotNil(t, w.volumeOf(t, directory).PersistentVolumeClaim, directory)
	}
	for _, file := range inputs {
		assert.NotNil(t, w.volumeOf(t, path.Dir(file)).Secret, file)
	}
}

// assertAllowedOut: the NetworkPolicy lets the pod reach where the Collector sends to.
func (w workload) assertAllowedOut(t *testing.T, r rendered, c collector) {
	t.Helper()
	var allowed []int
	for _, policy := range all[*networkingv1.NetworkPolicy](r) {
		if !covered(policy.Spec.PodSelector.MatchLabels, w.template.Labels) {
			continue
		}
		for _, rule := range policy.Spec.Egress {
			if c.discovers() { // pods, on any port
				assert.True(t, len(rule.Ports) > 0 || len(rule.To) > 0, "a rule without ports allows all")
			} else {
				assert.NotEmpty(t, rule.Ports, "a rule without ports allows all")
			}
			for _, port := range rule.Ports {
				assert.Nil(t, port.EndPort)
				allowed = append(allowed, port.Port.IntValue())
			}
		}
	}
	assert.Subset(t, allowed, append(c.sendsTo(t), 53, 443))
	assert.Subset(t, knownPorts, allowed)
}

// knownPorts are those that the pods of some overlay or chart send to: DNS, the API server, OTLP and brokers of Kafka.
var knownPorts = []int{53, 443, 6443, 4317, 9092, 9093}

// assertProbes: they ask the extension health_check.
func (w workload) assertProbes(t *testing.T, c collector) {
	t.Helper()
	health, _ := c["extensions"].(map[string]any)["health_check"].(map[string]any)
	_, port, _ := strings.Cut(health["endpoint"].(string), ":")
	container := w.container(t)
	require.NotNil(t, container.ReadinessProbe)
	require.NotNil(t, container.LivenessProbe)
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		if probe == nil {
			continue
		}
		require.NotNil(t, probe.HTTPGet)
		assert.Equal(t, "/", probe.HTTPGet.Path)
		assert.Equal(t, number(t, port), w.port(t, probe.HTTPGet.Port.String()))
	}
}

// assertBounds: GOMEMLIMIT is 80% of what the container may take, memory_limiter refuses below it, and the queue with
// the files fits on the volume.
func (w workload) assertBounds(t *testing.T, c collector) {
	t.Helper()
	container := w.container(t)
	limit := container.Resources.Limits.Memory().Value()
	require.NotZero(t, limit)
	target := w.environment(t)["GOMEMLIMIT"]
	bytes, err := resource.ParseQuantity(strings.TrimSuffix(target, "B"))
	require.NoError(t, err)
	assert.InDelta(t, 0.8, float64(bytes.Value())/float64(limit), 0.01)
	limiter := c["processors"].(map[string]any)["memory_limiter"].(map[string]any)
	assert.Less(t, limiter["limit_percentage"].(int), 80)

	var room, needed int64
	for _, claim := range w.claims {
		room += claim.Spec.Resources.Requests.Storage().Value()
	}
	walk(nil, c["exporters"], func(path []string, value any) {
		if last := path[len(path)-1]; last == "queue_size" || last == "max_total_size" {
			needed += int64(value.(int))
		}
	})
	assert.LessOrEqual(t, needed, room)
}

// assertRestricted evaluates the pod against the Pod Security Standard that the namespace enforces, and looks for the
// read-only file system and the user, which are not part of it.
func (w workload) assertRestricted(t *testing.T) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &w.template.ObjectMeta, &w.template.Spec) {
		assert.True(t, result.Allowed, "%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
	}
	security := w.container(t).SecurityContext
	require.NotNil(t, security.ReadOnlyRootFilesystem)
	assert.True(t, *security.ReadOnlyRootFilesystem)
	assert.Equal(t, user, int(*w.template.Spec.SecurityContext.RunAsUser))
}

// discovers tells whether the Collector finds its targets by the API server.
func (c collector) discovers() bool {
	_, found := c["extensions"].(map[string]any)["target_discovery"]
	return found
}

// assertToken: only a pod that uses the API server has a token for it. kubernetes_access checks what that token allows.
func (w workload) assertToken(t *testing.T, c collector) {
	t.Helper()
	_, uses := c["extensions"].(map[string]any)["kubernetes_access"]
	mounts := w.template.Spec.AutomountServiceAccountToken
	assert.Equal(t, uses || c.discovers(), mounts == nil || *mounts)
}

// assertStops: a pod that receives waits until no Service leads to it, and has time for that and for its shutdown.
func (w workload) assertStops(t *testing.T) {
	t.Helper()
	container := w.container(t)
	receives := slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == "pprof" })
	if !receives {
		assert.Nil(t, container.Lifecycle)
		return
	}
	require.NotNil(t, container.Lifecycle)
	require.NotNil(t, container.Lifecycle.PreStop)
	require.NotNil(t, container.Lifecycle.PreStop.Sleep)
	assert.EqualValues(t, 5, container.Lifecycle.PreStop.Sleep.Seconds)
	assert.GreaterOrEqual(t, *w.template.Spec.TerminationGracePeriodSeconds, int64(30))
}

// assertServices: each has pods, and each port of it leads to one of theirs.
func (r rendered) assertServices(t *testing.T) {
	t.Helper()
	published := map[string]bool{}
	for _, service := range all[*corev1.Service](r) {
		pods := 0
		for _, w := range r.workloads {
			if !covered(service.Spec.Selector, w.template.Labels) {
				continue
			}
			pods++
			for _, port := range service.Spec.Ports {
				assert.Equal(t, int(port.Port), w.port(t, port.TargetPort.String()), "%s of %s", port.Name, service.Name)
				published[w.name+port.TargetPort.String()] = true
			}
		}
		assert.NotZero(t, pods, "the Service %s has no pods", service.Name)
		assertAffinity(t, service.Spec)
	}
	for _, w := range r.workloads {
		for _, port := range w.container(t).Ports {
			assert.True(t, published[w.name+port.Name], "the port %s of %s is in no Service", port.Name, w.name)
		}
	}
	for _, set := range all[*appsv1.StatefulSet](r) {
		assert.True(t, has[*corev1.Service](r, set.Spec.ServiceName))
	}
}

// assertAffinity: a Service that leads a sender to the same pod does so for less than the 5 minutes of max_connection_age. The default
// is three hours after the last connection: new pods would get no load.
func assertAffinity(t *testing.T, service corev1.ServiceSpec) {
	t.Helper()
	if service.SessionAffinity != corev1.ServiceAffinityClientIP {
		assert.Nil(t, service.SessionAffinityConfig, "the API server refuses it")
		return
	}
	require.NotNil(t, service.SessionAffinityConfig)
	assert.Equal(t, int32(60), *service.SessionAffinityConfig.ClientIP.TimeoutSeconds)
}

// assertScaling: what scales and what protects refers to workloads that are there.
func (r rendered) assertScaling(t *testing.T) {
	t.Helper()
	for _, scaler := range all[*autoscalingv2.HorizontalPodAutoscaler](r) {
		target := scaler.Spec.ScaleTargetRef
		assert.True(t, slices.ContainsFunc(r.workloads, func(w workload) bool {
			return w.kind == target.Kind && w.name == target.Name
		}), "%s %s", target.Kind, target.Name)
	}
	for _, budget := range all[*policyv1.PodDisruptionBudget](r) {
		matched := 0
		for _, w := range r.workloads {
			if covered(budget.Spec.Selector.MatchLabels, w.template.Labels) {
				matched++
			}
		}
		assert.Equal(t, 1, matched, "the budget %s is for one workload", budget.Name)
	}
}

// monitoring is the namespace of Prometheus.
var monitoring = networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "monitoring"}}}

// assertIngress: the NetworkPolicy lets in what the Services publish, but for the probes, which come from the node. Metrics are for one
// namespace only.
func (r rendered) assertIngress(t *testing.T) {
	t.Helper()
	policies := slices.DeleteFunc(all[*networkingv1.NetworkPolicy](r), func(policy *networkingv1.NetworkPolicy) bool {
		return !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
	})
	require.Len(t, policies, 1)
	assert.ElementsMatch(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policies[0].Spec.PolicyTypes)
	var allowed []string
	for _, rule := range policies[0].Spec.Ingress {
		assert.NotEmpty(t, rule.Ports, "a rule without ports allows all")
		for _, port := range rule.Ports {
			assert.Nil(t, port.EndPort)
			allowed = append(allowed, port.Port.String())
			if port.Port.String() == "metrics" {
				assert.Equal(t, []networkingv1.NetworkPolicyPeer{monitoring}, rule.From)
			}
		}
	}
	assert.Subset(t, []string{"pprof", "otlp-grpc", "otlp-http", "metrics"}, allowed)
	for _, w := range r.workloads {
		assert.True(t, covered(policies[0].Spec.PodSelector.MatchLabels, w.template.Labels))
		for _, port := range w.container(t).Ports {
			if port.Name != "health" {
				assert.Contains(t, allowed, port.Name)
			}
		}
	}
}

// assertRoles: the roles are bound to the account of the pods, in its namespace, and only list and watch pods.
func (r rendered) assertRoles(t *testing.T) {
	t.Helper()
	for _, binding := range all[*rbacv1.ClusterRoleBinding](r) {
		assert.True(t, has[*rbacv1.ClusterRole](r, binding.RoleRef.Name))
		for _, subject := range binding.Subjects {
			assert.True(t, has[*corev1.ServiceAccount](r, subject.Name))
			assert.True(t, has[*corev1.Namespace](r, subject.Namespace))
		}
	}
	for _, role := range all[*rbacv1.ClusterRole](r) {
		assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}}, role.Rules)
	}
	assert.Empty(t, all[*rbacv1.Role](r))
}
