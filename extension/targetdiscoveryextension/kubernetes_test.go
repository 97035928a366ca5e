// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// api is as much of the API of Kubernetes as lists and watches of pods need.
type api struct {
	*httptest.Server
	mu        sync.Mutex
	version   int
	pods      map[string]map[string]any
	changed   chan struct{}
	forbidden bool
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{version: 1, pods: map[string]map[string]any{}, changed: make(chan struct{})}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

// set replaces a pod, or removes it where it has no address.
func (a *api) set(name, address string, ports []any, annotations map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	if address == "" {
		delete(a.pods, name)
	} else {
		a.pods[name] = map[string]any{
			"kind": "Pod", "apiVersion": "v1",
			"metadata": map[string]any{
				"name": name, "namespace": "shop", "uid": "uid-" + name, "resourceVersion": strconv.Itoa(a.version),
				"annotations": annotations, "labels": map[string]any{"app.kubernetes.io/name": "checkout"},
			},
			"spec":   map[string]any{"nodeName": "node-1", "containers": []any{map[string]any{"name": "app", "ports": ports}}},
			"status": map[string]any{"phase": "Running", "podIP": address},
		}
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// refuse makes the API refuse all requests, and ends the watches.
func (a *api) refuse(refused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forbidden = refused
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	known, pods, version, changed, forbidden := a.snapshot()
	query := r.URL.Query()
	switch {
	case forbidden:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`)
		return
	case r.URL.Path != "/api/v1/pods" && r.URL.Path != "/api/v1/namespaces/shop/pods":
		http.NotFound(w, r)
		return
	case query.Get("watch") == "":
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}, "items": pods,
		})
		return
	case query.Get("sendInitialEvents") == "true":
		w.WriteHeader(http.StatusUnprocessableEntity) // as a server before version 1.27, so that the client lists
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	since, _ := strconv.Atoi(query.Get("resourceVersion"))
	encoder := json.NewEncoder(w)
	seen := map[string]map[string]any{}
	for name, pod := range known {
		if at, _ := strconv.Atoi(pod["metadata"].(map[string]any)["resourceVersion"].(string)); at <= since {
			seen[name] = pod
		}
	}
	for {
		for name, pod := range known {
			if fmt.Sprint(seen[name]) != fmt.Sprint(pod) {
				kind := "ADDED"
				if seen[name] != nil {
					kind = "MODIFIED"
				}
				_ = encoder.Encode(map[string]any{"type": kind, "object": pod})
				seen[name] = pod
			}
		}
		for name, pod := range seen {
			if known[name] == nil {
				_ = encoder.Encode(map[string]any{"type": "DELETED", "object": pod})
				delete(seen, name)
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
		if known, _, _, changed, forbidden = a.snapshot(); forbidden {
			return
		}
	}
}

func (a *api) snapshot() (known map[string]map[string]any, items []any, version int, changed chan struct{}, forbidden bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, items = map[string]map[string]any{}, []any{}
	for name, pod := range a.pods {
		known[name] = pod
		items = append(items, pod)
	}
	return known, items, a.version, a.changed, a.forbidden
}

func containerPort(name string, number int) any {
	return map[string]any{"name": name, "containerPort": number, "protocol": "TCP"}
}

// TestKubernetes: pods come, change and go; while the API refuses, the last known ones stay.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.set("one", "10.0.0.1", []any{containerPort("http", 80), containerPort("debug", 6060)}, map[string]any{
		"profiles.grafana.com/cpu.scrape": "true", "profiles.grafana.com/cpu.port_name": "debug",
	})
	a.set("silent", "10.0.0.9", nil, nil)
	text := shipped(t, "- role: pod", "- {role: pod, namespaces: {names: [shop]}, api_server: '"+a.URL+"'}")
	r := run(t, text)
	r.wait(t, "10.0.0.1:6060")
	attributes := r.attributes(0)
	for name, want := range map[string]string{
		"k8s.pod.name": "one", "k8s.namespace.name": "shop", "k8s.node.name": "node-1", "k8s.container.name": "app",
		"k8s.pod.uid": "uid-one", "service.name": "checkout", "service.instance.id": "shop.one.app",
	} {
		assert.Equal(t, want, attributes[name], name)
	}

	a.set("two", "10.0.0.2", nil, map[string]any{"pprof.io/scrape": "true", "pprof.io/port": "6061"})
	r.wait(t, "10.0.0.1:6060", "10.0.0.2:6061")
	a.set("one", "10.0.0.3", []any{containerPort("debug", 6060)}, map[string]any{"pprof.io/scrape": "true"})
	r.wait(t, "10.0.0.2:6061", "10.0.0.3:6060")

	a.refuse(true)
	r.waitErr(t, "kubernetes_sd_configs[0]: requests to the API of Kubernetes fail")
	assert.Positive(t, r.count("failures", "kubernetes"))
	assert.Len(t, r.addresses(), 2, "the last known targets stay")
	require.Equal(t, 1, r.logs.FilterMessage("Cannot discover targets, the last known ones stay").Len())
	a.refuse(false)
	a.set("two", "", nil, nil)
	r.wait(t, "10.0.0.3:6060")
}

// TestKubernetesOutsideOfACluster: without a service account there is an error at the start.
func TestKubernetesOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	d := must.Get(newTargetDiscovery(configOf(t, "kubernetes_sd_configs: [{role: pod}]"), nopSettings()))(t)
	require.ErrorContains(t, d.Start(t.Context(), &host{}), "cannot start kubernetes_sd_configs[0]")
	require.NoError(t, d.Shutdown(t.Context()))
}
