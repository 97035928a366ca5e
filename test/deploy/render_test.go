// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// overlays are the directories that are applied, below deploy/kubernetes.
var overlays = []string{"base", "overlays/single", "overlays/kafka", "overlays/tls"}

// rendered is what kubectl would apply.
type rendered struct {
	objects   []runtime.Object
	workloads []workload
}

// workload is a StatefulSet, Deployment or DaemonSet.
type workload struct {
	kind, name string
	selector   map[string]string
	template   corev1.PodTemplateSpec
	claims     []corev1.PersistentVolumeClaim
}

// render makes the objects of a directory and decodes each, strictly: an unknown or repeated field fails.
func render(t *testing.T, directory string) rendered {
	t.Helper()
	options := krusty.MakeDefaultOptions() // files outside of the directory are refused, as by kubectl
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), root+"/deploy/kubernetes/"+directory)
	require.NoError(t, err)
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	var r rendered
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		object, _, err := decoder.Decode(text, nil, nil)
		require.NoError(t, err, string(text))
		r.add(object)
	}
	require.NotEmpty(t, r.workloads)
	return r
}

func (r *rendered) add(object runtime.Object) {
	r.objects = append(r.objects, object)
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		r.workloads = append(r.workloads,
			workload{"StatefulSet", o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template, o.Spec.VolumeClaimTemplates})
	case *appsv1.Deployment:
		r.workloads = append(r.workloads, workload{"Deployment", o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template, nil})
	case *appsv1.DaemonSet:
		r.workloads = append(r.workloads, workload{"DaemonSet", o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template, nil})
	}
}

// all returns the objects of a type.
func all[T runtime.Object](r rendered) (found []T) {
	for _, object := range r.objects {
		if o, is := object.(T); is {
			found = append(found, o)
		}
	}
	return found
}

// has tells whether there is an object of this type and name.
func has[T runtime.Object](r rendered, name string) bool {
	for _, object := range all[T](r) {
		if accessor, err := meta.Accessor(object); err == nil && accessor.GetName() == name {
			return true
		}
	}
	return false
}

// covered tells whether a selector matches labels.
func covered(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// container is the one container of a workload.
func (w workload) container(t *testing.T) corev1.Container {
	t.Helper()
	require.Len(t, w.template.Spec.Containers, 1)
	return w.template.Spec.Containers[0]
}

// environment is what the container's variables are; what only a cluster knows gets a value that is fit to validate.
func (w workload) environment(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, variable := range w.container(t).Env {
		values[variable.Name] = variable.Value
		if variable.ValueFrom != nil {
			require.NotNil(t, variable.ValueFrom.FieldRef, "a variable from a place that the test does not know")
			value, known := map[string]string{"status.podIP": "192.0.2.1", "metadata.name": w.name + "-0", "spec.nodeName": "node"}[variable.ValueFrom.FieldRef.FieldPath]
			require.True(t, known, variable.ValueFrom.FieldRef.FieldPath)
			values[variable.Name] = value
		}
	}
	return values
}

// port returns the number of a container port by its name.
func (w workload) port(t *testing.T, name string) int {
	t.Helper()
	for _, port := range w.container(t).Ports {
		if port.Name == name {
			return int(port.ContainerPort)
		}
	}
	require.Fail(t, fmt.Sprintf("%s has no port %q", w.name, name))
	return 0
}

const (
	root    = "../.."
	gate    = "--feature-gates=service.profilesSupport"
	program = "otelcol-pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(content)
}

// cases reads a list of testdata.
func cases[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "test/deploy/testdata", name)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&all))
	require.NotEmpty(t, all)
	return all
}

// validate hands configurations, as texts, to the binary's own check, with the environment of the container.
func validate(t *testing.T, environment map[string]string, texts ...string) {
	t.Helper()
	binary := os.Getenv("OTELPPROF_BINARY")
	if binary == "" {
		require.Empty(t, os.Getenv("CI"), "OTELPPROF_BINARY does not name the built distribution")
		t.Log("not validated: OTELPPROF_BINARY does not name the built distribution")
		return
	}
	arguments := []string{"validate", gate}
	for _, text := range texts {
		arguments = append(arguments, "--config", "yaml:"+text)
	}
	command := exec.CommandContext(t.Context(), binary, arguments...)
	for name, value := range environment {
		command.Env = append(command.Env, name+"="+value)
	}
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
}
