// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
