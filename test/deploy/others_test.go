// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	sigs "sigs.k8s.io/yaml"
)

// helmValues are the keys of the chart opentelemetry-collector that we set.
type helmValues struct {
	Mode  string `json:"mode"`
	Image struct {
		Repository string `json:"repository"`
		Tag        string `json:"tag"`
	} `json:"image"`
	Command struct {
		Name      string   `json:"name"`
		ExtraArgs []string `json:"extraArgs"`
	} `json:"command"`
	ReplicaCount int `json:"replicaCount"`
	Ports        map[string]struct {
		Enabled       bool   `json:"enabled"`
		ContainerPort int    `json:"containerPort"`
		ServicePort   int    `json:"servicePort"`
		Protocol      string `json:"protocol"`
		AppProtocol   string `json:"appProtocol"`
	} `json:"ports"`
	ExtraEnvs          []corev1.EnvVar             `json:"extraEnvs"`
	Resources          corev1.ResourceRequirements `json:"resources"`
	UseGOMEMLIMIT      bool                        `json:"useGOMEMLIMIT"`
	PodSecurityContext corev1.PodSecurityContext   `json:"podSecurityContext"`
	SecurityContext    corev1.SecurityContext      `json:"securityContext"`
	StatefulSet        struct {
		PodManagementPolicy  string                         `json:"podManagementPolicy"`
		VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
	} `json:"statefulset"`
	ExtraVolumeMounts []corev1.VolumeMount `json:"extraVolumeMounts"`
	ClusterRole       struct {
		Create bool                `json:"create"`
		Rules  []rbacv1.PolicyRule `json:"rules"`
	} `json:"clusterRole"`
	Autoscaling struct {
		Enabled     bool `json:"enabled"`
		MinReplicas int  `json:"minReplicas"`
		MaxReplicas int  `json:"maxReplicas"`
		TargetCPU   int  `json:"targetCPUUtilizationPercentage"`
	} `json:"autoscaling"`
	PodDisruptionBudget struct {
		Enabled        bool `json:"enabled"`
		MaxUnavailable int  `json:"maxUnavailable"`
	} `json:"podDisruptionBudget"`
	AlternateConfig map[string]any `json:"alternateConfig"`
}

// TestHelmValues: the chart itself cannot be had here. What it does with the values is in the comments.
func TestHelmValues(t *testing.T) {
	var values helmValues
	require.NoError(t, sigs.UnmarshalStrict([]byte(read(t, "deploy/helm/values.yaml")), &values))
	assert.Equal(t, program, values.Command.Name, "the chart runs /<name>")
	assert.Contains(t, values.Command.ExtraArgs, gate)
	assert.True(t, values.UseGOMEMLIMIT)

	var ports []int
	for name, port := range values.Ports {
		if port.Enabled {
			assert.Equal(t, port.ContainerPort, port.ServicePort, name)
			ports = append(ports, port.ContainerPort)
		}
	}
	environment := map[string]string{"MY_POD_IP": "192.0.2.1"}
	w := workload{name: "helm", claims: values.StatefulSet.VolumeClaimTemplates}
	w.template.Spec = podOf(values.PodSecurityContext, corev1.Container{
		Env: values.ExtraEnvs, Resources: values.Resources, SecurityContext: &values.SecurityContext,
		VolumeMounts: values.ExtraVolumeMounts,
	})
	for _, variable := range values.ExtraEnvs {
		environment[variable.Name] = variable.Value
	}
	c := w.assertEmbedded(t, environment, values.AlternateConfig)
	// The chart has probes of its own, for the port of health_check that is in its template.
	slices.Sort(ports)
	assert.Equal(t, c.listens(t), append(ports, 13133))
	assert.Equal(t, all[*rbacv1.ClusterRole](render(t, "base"))[0].Rules, values.ClusterRole.Rules)
}

// customResource are the fields of the operator's v1beta1 that we set.
type customResource struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Mode           string            `json:"mode"`
		Image          string            `json:"image"`
		ServiceAccount string            `json:"serviceAccount"`
		Args           map[string]string `json:"args"`
		Env            []corev1.EnvVar   `json:"env"`
		Ports          []struct {
			HostPort           int32 `json:"hostPort"`
			corev1.ServicePort `json:",inline"`
		} `json:"ports"`
		Resources                     corev1.ResourceRequirements    `json:"resources"`
		Lifecycle                     corev1.Lifecycle               `json:"lifecycle"`
		TerminationGracePeriodSeconds int64                          `json:"terminationGracePeriodSeconds"`
		PodSecurityContext            corev1.PodSecurityContext      `json:"podSecurityContext"`
		SecurityContext               corev1.SecurityContext         `json:"securityContext"`
		VolumeClaimTemplates          []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
		VolumeMounts                  []corev1.VolumeMount           `json:"volumeMounts"`
		Autoscaler                    struct {
			MinReplicas          int32 `json:"minReplicas"`
			MaxReplicas          int32 `json:"maxReplicas"`
			TargetCPUUtilization int32 `json:"targetCPUUtilization"`
		} `json:"autoscaler"`
		PodDisruptionBudget struct {
			MaxUnavailable int `json:"maxUnavailable"`
		} `json:"podDisruptionBudget"`
		Config map[string]any `json:"config"`
	} `json:"spec"`
}

// TestCustomResource: the operator's own types cannot be had as a module; these are the fields that it documents.
func TestCustomResource(t *testing.T) {
	var resource customResource
	require.NoError(t, sigs.UnmarshalStrict([]byte(read(t, "deploy/operator/opentelemetrycollector.yaml")), &resource))
	assert.Equal(t, "opentelemetry.io/v1beta1", resource.APIVersion)
	assert.Equal(t, "OpenTelemetryCollector", resource.Kind)
	spec := resource.Spec
	assert.Equal(t, gate, "--feature-gates="+spec.Args["feature-gates"])
	require.NotNil(t, spec.Lifecycle.PreStop)
	assert.EqualValues(t, 5, spec.Lifecycle.PreStop.Sleep.Seconds)
	assert.True(t, has[*corev1.ServiceAccount](render(t, "base"), spec.ServiceAccount))

	w := workload{name: "operator", claims: spec.VolumeClaimTemplates}
	w.template.Spec = podOf(spec.PodSecurityContext, corev1.Container{
		Env: spec.Env, Resources: spec.Resources, SecurityContext: &spec.SecurityContext, VolumeMounts: spec.VolumeMounts,
	})
	c := w.assertEmbedded(t, w.environment(t), spec.Config)
	// The operator adds those of the metrics and of health_check, which it knows.
	ports := []int{8888, 13133}
	for _, port := range spec.Ports {
		assert.Equal(t, int(port.Port), port.TargetPort.IntValue())
		ports = append(ports, int(port.Port))
	}
	slices.Sort(ports)
	assert.Equal(t, c.listens(t), ports)
	walk(nil, c, func(path []string, value any) {
		assert.NotNil(t, value, "the operator refuses an empty %v", path)
	})
}

func podOf(security corev1.PodSecurityContext, container corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{SecurityContext: &security, Containers: []corev1.Container{container}}
}

// assertEmbedded: the configuration is that of the base, the binary takes it, and it fits to the pod around it.
func (w workload) assertEmbedded(t *testing.T, environment map[string]string, config map[string]any) collector {
	t.Helper()
	text, err := yaml.Marshal(config)
	require.NoError(t, err)
	validate(t, environment, string(text))
	c := load(t, environment, string(text))
	// As JSON: Helm and the operator make large numbers floats, as this test does, and the binary takes them.
	want, err := json.Marshal(load(t, environment, read(t, "deploy/kubernetes/base/config.yaml")))
	require.NoError(t, err)
	got, err := json.Marshal(c)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
	w.assertFiles(t, c)
	w.assertRestricted(t)
	return c
}
