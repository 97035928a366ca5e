// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root      = "../.."
	namespace = "otelpprof"
	manifests = root + "/deploy/kubernetes/"
)

// TestManifests applies the manifests of each directory, and checks which objects the controllers create.
func TestManifests(t *testing.T) {
	plane.makeNode(t)
	for _, directory := range []string{"base", "overlays/single", "overlays/kafka", "overlays/tls"} {
		t.Run(directory, func(t *testing.T) {
			plane.apply(t, manifests+directory)
			defer plane.remove(t, namespace)
			plane.assertWorks(t)
		})
	}
}

// TestChart does the same with the rendered Helm chart, for each set of values.
func TestChart(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("OTELPPROF_CHARTS"), "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "OTELPPROF_CHARTS has no objects of the chart")
	plane.makeNode(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			plane.must(t, http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
				"name": namespace, "labels": object{"pod-security.kubernetes.io/enforce": "restricted"},
			}})
			defer plane.remove(t, namespace)
			plane.kubectl(t, "", "apply", "--server-side", "--validate=strict", "--namespace", namespace, "-f", file)
			plane.assertWorks(t)
		})
	}
}

// assertWorks checks the objects that the controllers create for those of a namespace.
func (c *controlPlane) assertWorks(t *testing.T) {
	t.Helper()
	c.assertPods(t)
	c.assertScaling(t)
	c.assertPorts(t)
}

// apply creates the objects of a directory. The server refuses unknown and repeated fields.
func (c *controlPlane) apply(t *testing.T, directory string) {
	t.Helper()
	c.kubectl(t, "", "apply", "--server-side", "--validate=strict", "-k", directory)
}

// remove deletes a namespace and waits until it is gone. It also deletes the pods on the node, since no kubelet does that,
// and the cluster roles, which are in no namespace. It deletes the objects with finalizers first: the namespace controller takes 5 s
// for each of its passes, and would need a second one for them.
func (c *controlPlane) remove(t *testing.T, namespace string) {
	t.Helper()
	c.kubectl(t, "", "delete", "clusterroles,clusterrolebindings", "--selector=app.kubernetes.io/name in (otelpprof, otelcol-pprof)")
	for _, kind := range []string{"statefulsets", "deployments", "daemonsets", "replicasets"} {
		c.must(t, http.MethodDelete, "/apis/apps/v1/namespaces/"+namespace+"/"+kind, nil)
	}
	path := "/api/v1/namespaces/" + namespace
	claims := path + "/persistentvolumeclaims"
	require.Eventually(t, func() bool {
		c.must(t, http.MethodDelete, path+"/pods?gracePeriodSeconds=0", nil)
		c.must(t, http.MethodDelete, claims, nil)
		return len(c.pods(t, namespace, ""))+len(c.list(t, claims)) == 0
	}, patience, pollEvery, "the pods and claims of %s are not removed", namespace)
	c.must(t, http.MethodDelete, path, nil)
	require.Eventually(t, func() bool {
		c.call(t, http.MethodDelete, path+"/pods?gracePeriodSeconds=0", nil)
		status, _ := c.call(t, http.MethodGet, path, nil)
		return status == http.StatusNotFound
	}, patience, pollEvery, "the namespace %s is not removed", namespace)
}

// workloads returns all StatefulSets, Deployments and DaemonSets.
func (c *controlPlane) workloads(t *testing.T) (found []object) {
	t.Helper()
	for _, kind := range []string{"statefulsets", "deployments", "daemonsets"} {
		found = append(found, c.list(t, "/apis/apps/v1/namespaces/"+namespace+"/"+kind)...)
	}
	require.NotEmpty(t, found)
	return found
}

// kindOf returns the kind of a workload as in the path of its URL.
func kindOf(workload object) string {
	switch {
	case at(workload, "spec", "serviceName") != nil:
		return "statefulsets"
	case at(workload, "spec", "replicas") != nil:
		return "deployments"
	}
	return "daemonsets"
}

// wanted returns the number of pods that a workload should have. A DaemonSet has one, since there is one node.
func wanted(workload object) int {
	if replicas, is := at(workload, "spec", "replicas").(float64); is {
		return int(replicas)
	}
	return 1
}

// selector returns the label selector of a workload, or of another object with the same field, as text.
func selector(t *testing.T, o object) (text string) {
	t.Helper()
	labels, _ := at(o, "spec", "selector", "matchLabels").(object)
	require.NotEmpty(t, labels)
	for key, value := range labels {
		if text != "" {
			text += ","
		}
		text += key + "=" + value.(string)
	}
	return text
}

// assertPods checks that the controllers create every pod, so that all of them comply with the PodSecurity of the namespace, and the
// claims of their volumes.
func (c *controlPlane) assertPods(t *testing.T) {
	t.Helper()
	assert.Equal(t, "restricted", at(c.must(t, http.MethodGet, "/api/v1/namespaces/"+namespace, nil), "metadata", "labels", "pod-security.kubernetes.io/enforce"))
	for _, workload := range c.workloads(t) {
		require.Eventually(t, func() bool {
			now := c.must(t, http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/"+kindOf(workload)+"/"+name(workload), nil)
			return len(c.pods(t, namespace, selector(t, workload))) == wanted(now)
		}, patience, pollEvery, "%s has no pods: %v", name(workload), c.refusals(t))
		claims, _ := at(workload, "spec", "volumeClaimTemplates").([]any)
		for _, claim := range claims {
			for _, pod := range c.pods(t, namespace, selector(t, workload)) {
				path := fmt.Sprintf("/api/v1/namespaces/%s/persistentvolumeclaims/%s-%s", namespace, at(claim, "metadata", "name"), name(pod))
				c.must(t, http.MethodGet, path, nil)
			}
		}
	}
}

// refusals returns the warnings of the controllers.
func (c *controlPlane) refusals(t *testing.T) (messages []any) {
	t.Helper()
	for _, event := range c.list(t, "/api/v1/namespaces/"+namespace+"/events") {
		if event["type"] == "Warning" {
			messages = append(messages, event["message"])
		}
	}
	return messages
}

// assertScaling checks that each HorizontalPodAutoscaler finds its workload, and that each PodDisruptionBudget counts the pods.
func (c *controlPlane) assertScaling(t *testing.T) {
	t.Helper()
	for _, scaler := range c.list(t, "/apis/autoscaling/v2/namespaces/"+namespace+"/horizontalpodautoscalers") {
		require.Eventually(t, func() bool {
			now := c.must(t, http.MethodGet, "/apis/autoscaling/v2/namespaces/"+namespace+"/horizontalpodautoscalers/"+name(scaler), nil)
			conditions, _ := at(now, "status", "conditions").([]any)
			for _, condition := range conditions {
				if at(condition, "type") == "AbleToScale" && at(condition, "status") == "True" {
					return true
				}
			}
			return false
		}, patience, pollEvery, "%s scales nothing", name(scaler))
	}
	for _, budget := range c.list(t, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets") {
		want := len(c.pods(t, namespace, selector(t, budget)))
		require.Positive(t, want, "%s selects no pods", name(budget))
		require.Eventually(t, func() bool {
			now := c.must(t, http.MethodGet, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets/"+name(budget), nil)
			return at(now, "status", "expectedPods") == float64(want) && at(now, "status", "observedGeneration") == at(now, "metadata", "generation")
		}, patience, pollEvery, "%s counts other pods", name(budget))
	}
}

// assertPorts checks that each NetworkPolicy selects pods and names ports of these, and that each Service has addresses with its
// ports.
func (c *controlPlane) assertPorts(t *testing.T) {
	t.Helper()
	all := c.pods(t, namespace, "")
	for i, pod := range all {
		c.bind(t, pod)
		c.report(t, pod, fmt.Sprintf("192.0.2.%d", i+1))
	}
	for _, policy := range c.list(t, "/apis/networking.k8s.io/v1/namespaces/"+namespace+"/networkpolicies") {
		labels, _ := at(policy, "spec", "podSelector", "matchLabels").(object)
		selected := selector(t, object{"spec": object{"selector": object{"matchLabels": labels}}})
		pods := c.pods(t, namespace, selected)
		require.NotEmpty(t, pods, "%s selects no pods", name(policy))
		rules, _ := at(policy, "spec", "ingress").([]any) // a policy for egress has none
		for _, rule := range rules {
			for _, port := range at(rule, "ports").([]any) {
				assert.True(t, hasPort(pods, at(port, "port")), "%s allows %v, which no pod has", name(policy), at(port, "port"))
			}
		}
	}
	for _, service := range c.list(t, "/api/v1/namespaces/"+namespace+"/services") {
		published := len(at(service, "spec", "ports").([]any))
		require.Eventually(t, func() bool {
			for _, slice := range c.list(t, "/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices?labelSelector=kubernetes.io/service-name="+name(service)) {
				endpoints, _ := slice["endpoints"].([]any)
				ports, _ := slice["ports"].([]any)
				if len(endpoints) > 0 && len(ports) == published {
					return true
				}
			}
			return false
		}, patience, pollEvery, "the service %s has no pods, or not all ports", name(service))
	}
}

// hasPort reports whether one of the pods has a port with this name or number.
func hasPort(pods []object, wanted any) bool {
	for _, pod := range pods {
		for _, container := range at(pod, "spec", "containers").([]any) {
			ports, _ := at(container, "ports").([]any)
			for _, port := range ports {
				if at(port, "name") == wanted || at(port, "containerPort") == wanted {
					return true
				}
			}
		}
	}
	return false
}

// TestRestricted checks that the namespace of the manifests refuses a pod that does not comply. Otherwise the tests above would prove
// nothing.
func TestRestricted(t *testing.T) {
	plane.apply(t, manifests+"base")
	defer plane.remove(t, namespace)
	require.Eventually(t, func() bool { // The API server refuses all pods until the service account exists.
		status, _ := plane.call(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", nil)
		return status == http.StatusOK
	}, patience, pollEvery)
	status, answer := plane.call(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "careless"},
		"spec": object{"containers": []object{{"name": "careless", "image": "careless"}}},
	})
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, answer["message"], "violates PodSecurity")
}
