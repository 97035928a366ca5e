// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRoll changes the configuration. This gives a ConfigMap with another name, and the controller replaces one pod at a time.
func TestRoll(t *testing.T) {
	plane.apply(t, manifests+"base")
	defer plane.remove(t, namespace)
	const path = "/apis/apps/v1/namespaces/" + namespace + "/statefulsets/otelpprof"
	set := plane.must(t, http.MethodGet, path, nil)
	replicas := int(at(set, "spec", "replicas").(float64))
	selected := selector(t, set)
	require.Eventually(t, func() bool { return plane.reportAll(t, selected) == replicas }, patience, pollEvery)
	require.Eventually(t, func() bool {
		return at(plane.must(t, http.MethodGet, path, nil), "status", "readyReplicas") == float64(replicas)
	}, patience, pollEvery)
	before := configMap(set)

	changed := filepath.Join(t.TempDir(), "kubernetes")
	require.NoError(t, os.CopyFS(changed, os.DirFS(manifests)))
	file := changed + "/base/config.yaml"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "check_interval: 1s", "check_interval: 2s", 1)), 0o600))
	plane.apply(t, filepath.Join(changed, "base"))

	after := configMap(plane.must(t, http.MethodGet, path, nil))
	require.NotEqual(t, before, after)
	plane.must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/configmaps/"+before, nil) // Pods of the old revision may still start.
	least := replicas
	require.Eventually(t, func() bool {
		number, current := 0, 0
		for _, pod := range plane.pods(t, namespace, selected) {
			if ready(pod) {
				number++
				if configMap(object{"spec": object{"template": pod}}) == after {
					current++
				}
			}
		}
		least = min(least, number)
		plane.reportAll(t, selected)
		return current == replicas
	}, patience, pollEvery)
	assert.GreaterOrEqual(t, least, replicas-1, "one pod after the other")
}

// reportAll reports the pods that are not ready, and returns how many there are.
func (c *controlPlane) reportAll(t *testing.T, selected string) int {
	t.Helper()
	pods := c.pods(t, namespace, selected)
	for _, pod := range pods {
		if !ready(pod) && at(pod, "metadata", "deletionTimestamp") == nil {
			c.report(t, pod, "192.0.2.1")
		}
	}
	return len(pods)
}

// configMap returns the name of the ConfigMap that the pods of a StatefulSet mount.
func configMap(set object) string {
	for _, volume := range at(set, "spec", "template", "spec", "volumes").([]any) {
		if name, is := at(volume, "configMap", "name").(string); is && at(volume, "name") == "config" {
			return name
		}
	}
	return ""
}

const rolePath = "/apis/rbac.authorization.k8s.io/v1/clusterroles/otelpprof"

// TestMissingRules removes each permission from the role in turn. The gateway reports the missing permission, continues to accept
// profiles, and reports when it has all permissions again.
func TestMissingRules(t *testing.T) {
	plane.apply(t, manifests+"base")
	defer plane.remove(t, namespace)
	gateway := plane.startGateway(t, gatewayAddress, backendAddress+":4317", "--config=yaml:extensions::kubernetes_access::interval: 100ms")
	const all = "The service account of this pod has all permissions"
	require.Eventually(t, func() bool { return strings.Contains(gateway.log.String(), all) }, patience, pollEvery, gateway.log)

	rules := plane.must(t, http.MethodGet, rolePath, nil)["rules"]
	for _, permission := range plane.permissions(t) {
		verb, _, _ := strings.Cut(permission, " ")
		plane.must(t, http.MethodPatch, rolePath, object{"rules": without(rules, permission)})
		text := "may not " + verb + " pods in all namespaces"
		require.Eventually(t, func() bool { return strings.Contains(gateway.log.String(), text) }, patience, pollEvery, gateway.log)
		assert.Contains(t, gateway.log.String(), "resources: [pods], verbs: ["+verb+"]} to its ClusterRole")
		_, metrics := gateway.get(t, ":8888/metrics")
		assert.Regexp(t, `(?m)^otelcol_extension_kubernetes_access_missing_permissions(\{.*\})? 1$`, metrics)
		gateway.upload(t, podAddress, "checkout")

		before := strings.Count(gateway.log.String(), all)
		plane.must(t, http.MethodPatch, rolePath, object{"rules": rules})
		require.Eventually(t, func() bool { return strings.Count(gateway.log.String(), all) > before }, patience, pollEvery, gateway.log)
	}
}

// without returns rules that lack one permission. Each of ours is for one resource.
func without(rules any, permission string) (left []object) {
	for _, rule := range rules.([]any) {
		kept := []any{}
		for _, verb := range at(rule, "verbs").([]any) {
			if verb.(string)+" "+at(rule, "apiGroups").([]any)[0].(string)+"/"+at(rule, "resources").([]any)[0].(string) != permission {
				kept = append(kept, verb)
			}
		}
		if len(kept) > 0 {
			left = append(left, object{"apiGroups": at(rule, "apiGroups"), "resources": at(rule, "resources"), "verbs": kept})
		}
	}
	return left
}
