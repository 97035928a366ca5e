// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net/http"
	"testing"
	"time"
)

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
