// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	fleetNamespace = "fleet"
	fleetPort      = 6060
	// askedBy is the header with which a replica says who it is.
	askedBy = "X-Replica"
)

// fleet is many pods in the API, each with an address of its own, and a program at each address that serves profiles. The
// programs run in the process of the test, and go on after their pod is deleted: so whoever asks them is seen.
type fleet struct {
	*controlPlane
	profiles [][]byte
	server   *http.Server

	mu   sync.Mutex
	pods []*fleetPod
	// byAddress are the same pods.
	byAddress map[string]*fleetPod
}

// fleetPod is a pod, and what its program was asked for.
type fleetPod struct {
	name, address string
	// wanted says that its annotations ask for scrapes.
	wanted bool
	// ran is when the API had the pod as running, gone when it was deleted there.
	ran, gone time.Time
	asked     []question
}

// question is a request for the profile.
type question struct {
	at time.Time
	by string
}

// newFleet makes the namespace, the node, and a service account that may do with pods what discovery needs.
func newFleet(t *testing.T, plane *controlPlane) *fleet {
	t.Helper()
	f := &fleet{controlPlane: plane, profiles: makeProfiles(t), byAddress: map[string]*fleetPod{}}
	f.server = &http.Server{Handler: http.HandlerFunc(f.serve), ReadHeaderTimeout: patience}
	t.Cleanup(func() { _ = f.server.Close() })
	f.makeNode(t)
	f.must(t, http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": fleetNamespace}})
	t.Cleanup(func() {
		f.delete(t, len(f.pods)) // several at a time, which the server does not do by itself
		f.remove(t, fleetNamespace)
	})
	f.must(t, http.MethodPost, "/api/v1/namespaces/"+fleetNamespace+"/serviceaccounts", object{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": "otelpprof"},
	})
	const group = "rbac.authorization.k8s.io"
	metadata := object{"name": fleetNamespace, "labels": object{"app.kubernetes.io/name": "otelpprof"}}
	f.must(t, http.MethodPost, "/apis/"+group+"/v1/clusterroles", object{
		"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": metadata,
		"rules": []object{{"apiGroups": []string{""}, "resources": []string{"pods"}, "verbs": []string{"get", "list", "watch"}}},
	})
	f.must(t, http.MethodPost, "/apis/"+group+"/v1/clusterrolebindings", object{
		"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": metadata,
		"roleRef":  object{"apiGroup": group, "kind": "ClusterRole", "name": fleetNamespace},
		"subjects": []object{{"kind": "ServiceAccount", "name": "otelpprof", "namespace": fleetNamespace}},
	})
	require.Eventually(t, func() bool { // until then, no pod may be made
		status, _ := f.call(t, http.MethodGet, "/api/v1/namespaces/"+fleetNamespace+"/serviceaccounts/default", nil)
		return status == http.StatusOK
	}, patience, pollEvery)
	return f
}

// serve answers as net/http/pprof does. The counters of a program grow from one request to the next.
func (f *fleet) serve(w http.ResponseWriter, r *http.Request) {
	address, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	if r.URL.Path != "/debug/pprof/"+fetched {
		http.NotFound(w, r)
		return
	}
	f.mu.Lock()
	pod := f.byAddress[address]
	version := min(len(pod.asked), len(f.profiles)-1)
	pod.asked = append(pod.asked, question{at: time.Now(), by: r.Header.Get(askedBy)})
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.profiles[version])
}

// listen starts the program of a new pod.
func (f *fleet) listen(wanted bool) (*fleetPod, error) {
	f.mu.Lock()
	number := len(f.pods)
	pod := &fleetPod{name: fmt.Sprintf("pod-%04d", number), address: fmt.Sprintf("127.1.%d.%d", number/250, number%250+1), wanted: wanted}
	f.pods = append(f.pods, pod)
	f.byAddress[pod.address] = pod
	f.mu.Unlock()
	listener, err := net.Listen("tcp", net.JoinHostPort(pod.address, strconv.Itoa(fleetPort)))
	if err != nil {
		return nil, err
	}
	go func() { _ = f.server.Serve(listener) }()
	return pod, nil
}

// snapshot are the pods with their questions so far.
func (f *fleet) snapshot() []fleetPod {
	f.mu.Lock()
	defer f.mu.Unlock()
	pods := make([]fleetPod, len(f.pods))
	for i, pod := range f.pods {
		pods[i] = *pod
		pods[i].asked = append([]question(nil), pod.asked...)
	}
	return pods
}

const (
	// versions is how many rounds the counters of a program grow.
	versions = 40
	// branches is the depth of the tree of calls that allocates: each one doubles the stacks of the allocs profile.
	branches = 8
)

// makeProfiles makes what the programs serve: the allocations of this process, which grow.
func makeProfiles(t *testing.T) (profiles [][]byte) {
	t.Helper()
	for range versions {
		allocate()
		runtime.GC() // allocations are in the profile after it
		var content bytes.Buffer
		require.NoError(t, pprof.Lookup(fetched).WriteTo(&content, 0))
		profiles = append(profiles, content.Bytes())
	}
	stacks, _ := runtime.MemProfile(nil, true)
	t.Logf("a profile of a pod has %d stacks and %d bytes", stacks, len(profiles[0]))
	return profiles
}

// allocate makes an allocation at the end of each branch, all of which are in the profile.
func allocate() {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	left(branches)
}

var sink []byte

//go:noinline
func left(depth int) {
	if depth == 0 {
		sink = make([]byte, 64)
		return
	}
	left(depth - 1)
	right(depth - 1)
}

//go:noinline
func right(depth int) {
	if depth == 0 {
		sink = make([]byte, 128)
		return
	}
	left(depth - 1)
	right(depth - 1)
}
