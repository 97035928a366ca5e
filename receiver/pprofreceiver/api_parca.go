// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// labelJob is the label with which Prometheus and related systems identify a service.
const labelJob = "job"

// describeParca sets the resource from labels. Without a label for the service name, it uses the label job, as
// OpenTelemetry does for Prometheus.
func describeParca(source *pprof.Source, labels []label) {
	for _, l := range labels {
		if l.name == labelJob && l.value != "" {
			source.Resource.PutStr(attributeServiceName, l.value)
		}
	}
	setFromLabels(source, labels, pyroscopeNames)
}

// failParca writes an error in the format of gRPC gateways.
func failParca(w http.ResponseWriter, r *http.Request, f failure) {
	if r.URL.Path != parcaGatewayPath {
		failCall(w, r, f)
		return
	}
	failJSON(w, f.Status, map[string]any{"code": f.Code.Number, "message": f.text, "details": []any{}})
}
