// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// api is one push API of a server: its paths, how a request is read, and the form of its answers.
type api struct {
	on bool
	// name is the name in the configuration and in the metrics.
	name    string
	metrics *apiMetrics
	paths   []string
	// read adds the payloads of a request to the batch. body is valid until read returns. An error applies to the whole
	// request.
	read func(ctx context.Context, r *http.Request, payloads *batch, body []byte) error
	// succeed and fail write the answer. Headers may already be set.
	succeed func(w http.ResponseWriter, r *http.Request)
	fail    func(w http.ResponseWriter, r *http.Request, f failure)
}

// newAPIs returns the APIs that are on, without metrics.
func (s *server) newAPIs() []*api {
	on := s.cfg.APIs
	all := []*api{
		{
			on: on.Pprof, name: "pprof", paths: []string{s.cfg.Path},
			read: s.readPprof, succeed: succeedEmpty, fail: failText,
		},
		{
			on: on.PyroscopeIngest, name: "pyroscope_ingest", paths: ingestPaths,
			read: s.readIngest, succeed: succeedOK, fail: failIngest,
		},
		{
			on: on.PyroscopePush, name: "pyroscope_push", paths: pushPaths,
			read: s.readCall(pushMessage), succeed: succeedCall, fail: failCall,
		},
		{
			on: on.Datadog, name: "datadog", paths: datadogPaths,
			read: s.readDatadog, succeed: succeedOK, fail: failText,
		},
		{
			on: on.Parca, name: "parca", paths: parcaPaths,
			read: s.readCall(writeRawMessage), succeed: succeedCall, fail: failParca,
		},
	}
	return slices.DeleteFunc(all, func(one *api) bool { return !one.on })
}

// failure describes a refused request for its answer.
type failure struct {
	refusalClass
	text string
}

// succeedEmpty answers 204.
func succeedEmpty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// failText writes the text of an error.
func failText(w http.ResponseWriter, _ *http.Request, f failure) { http.Error(w, f.text, f.status) }

// succeedOK answers 200 without a body. Some clients treat 204 as a failure.
func succeedOK(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func failJSON(w http.ResponseWriter, status int, text any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// The client may have disconnected.
	_ = json.NewEncoder(w).Encode(text)
}

const (
	queryFormat     = "format"
	querySampleType = "sample_type"
)

// queryParameters are the parameters of this API, see [configcheck.Parameter].
var queryParameters = []string{queryServiceName, queryResourcePrefix, queryProfileName, queryFormat, querySampleType}

// readPprof reads a body that is one profile. The query and headers describe it.
func (s *server) readPprof(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	if mediaType(r) == typeForm {
		return newRefusal(unknownFormat, "a form is not supported here, only a profile as the body; /ingest takes forms of Pyroscope's clients")
	}
	known := queryParameters
	if auth := s.cfg.HTTP.Auth.Get(); auth != nil {
		known = slices.Concat(known, auth.RequestParameters)
	}
	source, err := s.newSource(r, known)
	if err != nil {
		return err
	}
	as, err := s.queryFormat(&source, r.URL.Query())
	if err != nil {
		return err
	}
	return payloads.add(ctx, payload{format: as, content: body, source: source})
}

// queryFormat returns the format that the query names. If the values have no type, the query can name it, too.
func (s *server) queryFormat(source *pprof.Source, query url.Values) (payloadFormat, error) {
	if named := query.Get(querySampleType); named != "" {
		if err := checkLabel(querySampleType, named); err != nil {
			return nil, err
		}
		sampleType, unit, found := strings.Cut(validText(named), "/")
		if !found || sampleType == "" || unit == "" {
			return nil, newRefusal(badQuery, "%s %.64q is not a type and a unit, such as cpu/nanoseconds", querySampleType, named)
		}
		source.SampleTypes = []pprof.ValueType{{Type: sampleType, Unit: unit}}
	}
	switch name := query.Get(queryFormat); name {
	case "":
		return s.intake.formats.unnamed(s.pprof), nil
	case formatPprof:
		return s.pprof, nil
	case formatJFR:
		return s.intake.formats.jfr(nil, 0), nil
	default:
		named, err := findFormat(name)
		if err != nil {
			return nil, err
		}
		return s.intake.formats.text(named, 0), nil
	}
}
