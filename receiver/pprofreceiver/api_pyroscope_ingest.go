// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	fieldProfile     = "profile"
	fieldPrevious    = "prev_profile"
	fieldSampleTypes = "sample_type_config"
	fieldJFR         = "jfr"
	fieldLabels      = "labels"
	// maxIngestParts is above the number of parts that clients send: the profile, the previous profile, and the sample
	// types.
	maxIngestParts = 16
	// sampleTypesFactor is the memory for parsing a sample_type_config, as a multiple of its length.
	sampleTypesFactor = 32
)

func (s *server) readIngest(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	query := r.URL.Query()
	source, err := s.newSource(r)
	if err != nil {
		return err
	}
	app, err := setFromIngestQuery(&source, query)
	if err != nil {
		return err
	}
	contentType := r.Header.Get("Content-Type")
	as, err := s.ingestFormat(&source, app, query, contentType, body)
	if err != nil {
		return err
	}
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	boundary, isForm, err := formBoundary(contentType)
	if err != nil {
		return err
	}
	if !isForm {
		return payloads.add(ctx, payload{format: as, content: body, source: source, times: ingestTimes(query)})
	}
	return s.readIngestForm(ctx, payloads, body, boundary, source, query)
}

// setFromIngestQuery sets the resource from the name of the application, which it returns, its labels and the name of the
// profiler. A pprof has the information of the other parameters itself.
func setFromIngestQuery(source *pprof.Source, query url.Values) (app string, err error) {
	app, labels, err := parseName(query.Get("name"))
	if err != nil {
		return "", err
	}
	if spy := query.Get("spyName"); spy != "" {
		if err := checkLabel("spyName", spy); err != nil {
			return "", err
		}
		source.Resource.PutStr("pyroscope_spy", validText(spy))
	}
	source.Resource.PutStr(attributeServiceName, app)
	setFromLabels(source, labels, pyroscopeNames)
	return app, nil
}

// ingestTimes returns the times in the query. A time that cannot be parsed is as a missing one: the time of arrival would
// be another one at a retry.
func ingestTimes(query url.Values) (t times) {
	t.start, _ = parseTime(query.Get("from"))
	t.end, _ = parseTime(query.Get("until"))
	return t
}

// readIngestForm reads the fields of a form, in any order.
func (s *server) readIngestForm(ctx context.Context, payloads *batch, body []byte, boundary string, source pprof.Source, query url.Values) error {
	var profile, recording, labels []byte
	found := false
	err := s.readForm(payloads.memory, body, boundary, maxIngestParts, func(part formPart) error {
		switch part.name {
		case fieldProfile:
			if found {
				return newRefusal(malformed, "the form has more than one field %q", fieldProfile)
			}
			profile, found = part.content, true
		case fieldSampleTypes:
			if err := payloads.memory.Need(sampleTypesFactor * int64(len(part.content))); err != nil {
				return err
			}
			name, err := displayedName(part.content)
			if err != nil {
				return err
			}
			source.ProfileName = cmp.Or(name, source.ProfileName)
		case fieldPrevious:
			return newRefusal(unknownFormat, "the form has a field %q: profiles that are to be subtracted from another are not supported, update the client", fieldPrevious)
		case fieldJFR:
			if recording != nil {
				return newRefusal(malformed, "the form has more than one field %q", fieldJFR)
			}
			recording = part.content
		case fieldLabels:
			labels = part.content
		default:
			payloads.metrics.ignored(ctx, 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	as := s.pprof
	switch {
	case found && recording != nil:
		return newRefusal(malformed, "the form has a field %q and a field %q", fieldProfile, fieldJFR)
	case recording != nil:
		as, profile = s.recordingFormat(labels, query), recording
	case !found:
		return newRefusal(malformed, "the form has no field %q, nor %q", fieldProfile, fieldJFR)
	}
	return payloads.add(ctx, payload{format: as, content: profile, source: source, times: ingestTimes(query)})
}

// failIngest writes an error in Pyroscope's format: a code and a text. The status for profiles that cannot be parsed is
// 422.
func failIngest(w http.ResponseWriter, _ *http.Request, f failure) {
	if f.class == malformed {
		f.status = http.StatusUnprocessableEntity
	}
	failJSON(w, f.status, map[string]any{"code": f.code.name, "message": f.text})
}
