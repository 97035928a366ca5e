// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/push"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	// labelJob is what Prometheus and its kin call a service.
	labelJob = "job"

	parcaGatewayPath = "/api/profiles/writeraw"
)

var (
	pushPaths  = []string{"/push.v1.PusherService/Push"}
	parcaPaths = []string{"/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", parcaGatewayPath}
)

// pushAPI is Pyroscope's newer API, push.v1, by Connect or gRPC.
func (s *server) pushAPI() *api {
	return &api{
		way: wayPush, paths: pushPaths,
		take:    s.takeCall(procedure{message: push.PushRequest, describe: describePyroscope}),
		succeed: succeedCall, fail: failCall,
	}
}

func describePyroscope(source *pprof.Source, labels []label.Label) {
	setFromLabels(source, labels, pyroscopeNames)
}

// parcaAPI is Parca's WriteRaw, by gRPC or Connect, and as JSON where Parca's gateway has it.
func (s *server) parcaAPI() *api {
	return &api{
		way: wayParca, paths: parcaPaths,
		take:    s.takeCall(procedure{message: push.WriteRawRequest, describe: describeParca}),
		succeed: succeedCall, fail: failParca,
	}
}

// describeParca takes the job for the service's name unless a label says it better, as OpenTelemetry does for
// Prometheus.
func describeParca(source *pprof.Source, labels []label.Label) {
	if job := label.Find(labels, labelJob); job != "" {
		source.Resource.PutStr(attributeServiceName, job)
	}
	setFromLabels(source, labels, pyroscopeNames)
}

// failParca answers as a gateway to gRPC does.
func failParca(w http.ResponseWriter, r *http.Request, f failure) {
	if r.URL.Path != parcaGatewayPath {
		failCall(w, r, f)
		return
	}
	failJSON(w, f.status, map[string]any{"code": f.code.number, "message": f.text, "details": []any{}})
}
