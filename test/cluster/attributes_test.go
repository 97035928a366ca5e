// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Loopback addresses that no other test uses.
const (
	gatewayAddress = "127.83.16.1"
	backendAddress = "127.83.16.2"
	podAddress     = "127.83.16.3"
	strangeAddress = "127.83.16.4" // not the address of a pod
)

// TestPodAttributes sends a profile from the address of a pod, and one from elsewhere.
func TestPodAttributes(t *testing.T) {
	plane.apply(t, manifests+"base")
	defer plane.remove(t, namespace)
	pod := plane.shop(t)
	backend, file := startBackend(t, backendAddress)
	gateway := plane.startGateway(t, gatewayAddress, backend)

	want := map[string]string{
		"k8s.namespace.name": "shop", "k8s.deployment.name": "checkout", "k8s.node.name": node,
		"k8s.pod.name": name(pod), "k8s.pod.uid": at(pod, "metadata", "uid").(string),
	}
	// The processor does not wait for its first list of pods.
	require.Eventually(t, func() bool {
		gateway.upload(t, podAddress, "checkout")
		return slices.ContainsFunc(received(t, file, "checkout"), func(attributes map[string]string) bool {
			return contains(attributes, want)
		})
	}, patience, 10*pollEvery, gateway.log)

	gateway.upload(t, strangeAddress, "stranger")
	require.Eventually(t, func() bool { return len(received(t, file, "stranger")) > 0 }, patience, pollEvery, gateway.log)
	assert.NotContains(t, received(t, file, "stranger")[0], "k8s.pod.name", "it is delivered, and says nothing of a pod")

	_, metrics := gateway.get(t, ":8888/metrics")
	for _, status := range []string{"success", "error"} {
		assert.Regexp(t, `(?m)^otelcol_k8s_pod_association\{.*signal="profiles".*status="`+status+`".*\} [1-9]`, metrics)
	}
	plane.assertRules(t)
}

// shop makes a Deployment of one pod, with an address and on a node.
func (c *controlPlane) shop(t *testing.T) (pod object) {
	t.Helper()
	c.makeNode(t)
	labels := object{"app": "checkout"}
	c.must(t, http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "shop"}})
	t.Cleanup(func() { c.remove(t, "shop") })
	c.must(t, http.MethodPost, "/apis/apps/v1/namespaces/shop/deployments", object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "checkout"},
		"spec": object{"selector": object{"matchLabels": labels}, "template": object{
			"metadata": object{"labels": labels}, "spec": object{"containers": []object{{"name": "checkout", "image": "checkout"}}},
		}},
	})
	require.Eventually(t, func() bool {
		pods := c.pods(t, "shop", "app=checkout")
		if len(pods) == 1 {
			pod = pods[0]
		}
		return pod != nil
	}, patience, pollEvery)
	c.bind(t, pod)
	c.report(t, pod, podAddress)
	return pod
}

// message has the fields of an OTLP message as JSON that the tests read.
type message struct {
	ResourceProfiles []struct {
		Resource struct {
			Attributes []struct {
				KeyStrindex int
				Value       struct{ StringValueStrindex int }
			}
		}
	}
	Dictionary struct{ StringTable []string }
}

// received returns the resources of all profiles of a service that the backend has written so far.
func received(t *testing.T, path, service string) (resources []map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var message message
		if json.Unmarshal(lines.Bytes(), &message) != nil {
			continue // The backend has not yet written the whole line.
		}
		texts := message.Dictionary.StringTable
		for _, profiles := range message.ResourceProfiles {
			attributes := map[string]string{}
			for _, attribute := range profiles.Resource.Attributes {
				attributes[texts[attribute.KeyStrindex]] = texts[attribute.Value.StringValueStrindex]
			}
			if attributes["service.name"] == service {
				resources = append(resources, attributes)
			}
		}
	}
	return resources
}

func contains(attributes, wanted map[string]string) bool {
	for key, value := range wanted {
		if attributes[key] != value {
			return false
		}
	}
	return true
}

// assertRules checks that the role of the manifests allows all permissions that the gateway has used, and no others.
func (c *controlPlane) assertRules(t *testing.T) {
	t.Helper()
	assert.ElementsMatch(t, c.permissions(t), c.asked(t))
}

// asked returns the permissions that the service account of the manifests has used, from the audit log.
func (c *controlPlane) asked(t *testing.T) (permissions []string) {
	t.Helper()
	text, err := os.ReadFile(c.path("audit.log"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ APIGroup, Resource string }
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.User.Username != "system:serviceaccount:"+namespace+":otelpprof" ||
			event.ObjectRef.APIGroup == "authorization.k8s.io" { // Every account may ask for its own permissions.
			continue
		}
		permission := event.Verb + " " + event.ObjectRef.APIGroup + "/" + event.ObjectRef.Resource
		if !slices.Contains(permissions, permission) {
			permissions = append(permissions, permission)
		}
	}
	return permissions
}

// permissions returns the permissions of the role in the manifests, one for each verb.
func (c *controlPlane) permissions(t *testing.T) (permissions []string) {
	t.Helper()
	role := c.must(t, http.MethodGet, rolePath, nil)
	for _, rule := range role["rules"].([]any) {
		for _, group := range at(rule, "apiGroups").([]any) {
			for _, resource := range at(rule, "resources").([]any) {
				for _, verb := range at(rule, "verbs").([]any) {
					permissions = append(permissions, verb.(string)+" "+group.(string)+"/"+resource.(string))
				}
			}
		}
	}
	return permissions
}

// pods returns the pods of a namespace whose labels match a selector. An empty selector matches all.
func (c *controlPlane) pods(t *testing.T, namespace, selector string) []object {
	t.Helper()
	return c.list(t, "/api/v1/namespaces/"+namespace+"/pods?labelSelector="+selector)
}

// ready reports whether a pod is ready.
func ready(pod object) bool {
	conditions, _ := at(pod, "status", "conditions").([]any)
	for _, condition := range conditions {
		if at(condition, "type") == "Ready" {
			return at(condition, "status") == "True"
		}
	}
	return false
}

// report reports the state of a pod in place of a kubelet: the pod runs, is ready, and has an address.
func (c *controlPlane) report(t *testing.T, pod object, address string) {
	t.Helper()
	c.must(t, http.MethodPatch, "/api/v1/namespaces/"+at(pod, "metadata", "namespace").(string)+"/pods/"+name(pod)+"/status", object{
		"status": object{
			"phase": "Running", "podIP": address, "podIPs": []object{{"ip": address}},
			"conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}},
		},
	})
}

const node = "node-1"

// makeNode creates the node of a test. A new node has a taint until it is reported as ready.
func (c *controlPlane) makeNode(t *testing.T) {
	t.Helper()
	c.must(t, http.MethodPost, "/api/v1/nodes", object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": node}})
	t.Cleanup(func() { c.must(t, http.MethodDelete, "/api/v1/nodes/"+node, nil) })
	c.must(t, http.MethodPatch, "/api/v1/nodes/"+node, object{"spec": object{"taints": nil}})
}

// bind puts a pod on the node, as a scheduler does.
func (c *controlPlane) bind(t *testing.T, pod object) {
	t.Helper()
	path := "/api/v1/namespaces/" + at(pod, "metadata", "namespace").(string) + "/pods/" + name(pod) + "/binding"
	c.must(t, http.MethodPost, path, object{
		"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": name(pod)},
		"target": object{"apiVersion": "v1", "kind": "Node", "name": node},
	})
}
