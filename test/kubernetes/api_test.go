// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// containerID is the id of the only container of the pod.
const containerID = "4a1f8b7c"

// pod is the pod as JSON of the API.
const pod = `{
	"metadata": {
		"name": "checkout-7d9f6c5b8-x2k4p", "namespace": "shop", "uid": "0a1b2c3d", "resourceVersion": "1",
		"labels": {"pod-template-hash": "7d9f6c5b8"},
		"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7d9f6c5b8", "uid": "9f8e7d6c", "controller": true}]
	},
	"spec": {"nodeName": "node-1", "containers": [{"name": "app", "image": "registry.example.com/checkout:1.2.3"}]},
	"status": {
		"phase": "Running", "podIP": "10.0.0.7",
		"containerStatuses": [{"name": "app", "containerID": "containerd://` + containerID + `", "image": "registry.example.com/checkout:1.2.3"}]
	}
}`

// apiServer serves one pod, and answers requests for the permissions of the service account.
type apiServer struct {
	*httptest.Server
	// denied says that the account has no permissions.
	denied atomic.Bool
	// token, certificate and config are the paths of files for its clients.
	token, certificate, config string
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", s.review)
	mux.HandleFunc("GET /api/v1/pods", s.pods)
	s.Server = httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	directory := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	s.token = write("token", "secret")
	s.certificate = write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	s.config = write("config", `{
		apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: here, user: here}}],
		clusters: [{name: here, cluster: {server: "`+s.URL+`", certificate-authority: "`+s.certificate+`"}}], users: [{name: here, user: {token: secret}}]
	}`)
	return s
}

// review answers whether the account has a permission.
func (s *apiServer) review(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if json.NewDecoder(r.Body).Decode(&review) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	review["status"] = map[string]any{"allowed": !s.denied.Load()}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

// pods lists the pod. A watch waits until the client ends it, since the pod never changes.
func (s *apiServer) pods(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		_, _ = w.Write([]byte(`{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [` + pod + `]}`))
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		// This error says that the server cannot stream lists. The client then requests a list.
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`))
		return
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
