// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

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
	source, err := s.newSource(r)
	if err != nil {
		return err
	}
	known := queryParameters
	if auth := s.cfg.HTTP.Auth.Get(); auth != nil {
		known = slices.Concat(known, auth.RequestParameters)
	}
	if err := checkParameters(r.URL.RawQuery, known); err != nil {
		return err
	}
	as, err := s.queryFormat(&source, r.URL.Query())
	if err != nil {
		return err
	}
	return payloads.add(ctx, payload{format: as, content: body, source: source})
}

// checkParameters refuses other parameters than the known ones: with a misspelled one, the profile would be of another service.
func checkParameters(query string, known []string) error {
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, err := unescape(parameter)
		if err == nil && parameter != "" {
			err = configcheck.Parameter(name, known)
		}
		if err != nil {
			return newRefusal(badQuery, "%w", err)
		}
	}
	return nil
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
