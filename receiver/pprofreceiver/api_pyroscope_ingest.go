// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/form"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/pyroscope"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	attributeServiceName = "service.name"
	attributeSpy         = "pyroscope_spy"

	labelServiceName = "service_name"

	// formatPprof is the one format that is accepted. formatFolded is the format that Pyroscope assumes for a request that
	// names none and is no form.
	formatPprof  = "pprof"
	formatFolded = "groups"

	fieldProfile     = "profile"
	fieldPrevious    = "prev_profile"
	fieldSampleTypes = "sample_type_config"
	fieldJFR         = "jfr"
	// maxIngestParts is more than any client sends: the profile, the profile before it, and the sample types.
	maxIngestParts = 16
	// sampleTypesFactor is how many times its length a sample_type_config takes in memory when it is parsed.
	sampleTypesFactor = 32
)

// pyroscopeNames are the labels of Pyroscope that OpenTelemetry has a name for.
var pyroscopeNames = map[string]string{labelServiceName: attributeServiceName}

// pyroscopeIngestAPI is Pyroscope's older API: one profile, in a form or as the body, which the query describes.
type pyroscopeIngestAPI bool

func (pyroscopeIngestAPI) newAPI(s *server) *api {
	return &api{
		paths: []string{"/ingest", "/pyroscope/ingest"},
		read:  s.readIngest, succeed: succeedOK, fail: failIngest,
	}
}

func (s *server) readIngest(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	query := r.URL.Query()
	source, err := s.newSource(r)
	if err != nil {
		return err
	}
	if err := setFromIngestQuery(&source, query); err != nil {
		return err
	}
	if query.Get("format") == formatJFR {
		return s.readIngestRecording(ctx, r, payloads, body, source, query)
	}
	contentType := r.Header.Get("Content-Type")
	if err := checkFormat(query.Get("format"), contentType); err != nil {
		return err
	}
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	boundary, isForm, err := form.Boundary(contentType)
	switch {
	case err != nil:
		return err
	case !isForm:
		return s.readIngestBody(ctx, payloads, body, source, query)
	}
	if body, err = payloads.memory.inflate(ctx, body, s.intake.limits.InflatedBytes); err != nil {
		return err
	}
	return s.readIngestForm(ctx, payloads, form.NewReader(body, boundary, maxIngestParts), source, query)
}

// setFromIngestQuery sets the resource from the name of the application, its labels and the name of the profiler. The other
// parameters are ignored: they are for a database, and the pprof has the same information.
func setFromIngestQuery(source *pprof.Source, query url.Values) error {
	app, labels, err := pyroscope.ParseName(query.Get("name"))
	if errors.Is(err, label.ErrTooLarge) {
		return err
	}
	if err != nil {
		return refuse(classBadQuery, "%w", err)
	}
	if spy := query.Get("spyName"); spy != "" {
		if err := label.Check("spyName", spy); err != nil {
			return err
		}
		source.Resource.PutStr(attributeSpy, label.ValidText(spy))
	}
	source.Resource.PutStr(attributeServiceName, app)
	setFromLabels(source, labels, pyroscopeNames)
	return nil
}

// ingestTimes returns the times that the query names. A time that cannot be parsed is now.
func ingestTimes(query url.Values) times {
	now := time.Now()
	parse := func(name string) time.Time {
		if t, ok := pyroscope.ParseTime(query.Get(name), now); ok {
			return t
		}
		return now
	}
	return times{start: parse("from"), end: parse("until")}
}

// checkFormat refuses other formats than pprof. The parameter format or the Content-Type names the format.
func checkFormat(named, contentType string) error {
	if named == "" {
		// Pyroscope's own clients named it so before there was the parameter.
		if _, name, found := strings.Cut(contentType, "binary/octet-stream+"); found {
			named = name
		}
	}
	if named != "" && named != formatPprof {
		return refuse(classUnknownFormat, "format %.32q is not supported, only %q is", named, formatPprof)
	}
	return nil
}

// readIngestBody reads a body that is one profile.
func (s *server) readIngestBody(ctx context.Context, payloads *batch, body []byte, source pprof.Source, query url.Values) error {
	err := payloads.add(ctx, payload{format: s.pprof, content: body, source: source, times: ingestTimes(query)})
	if err != nil && query.Get("format") == "" && inflate.Plain(body) && classify(err) == classMalformed {
		return refuse(classUnknownFormat, "the request names no format and is no form, which means format %q; only %q is supported, and as that: %w",
			formatFolded, formatPprof, err)
	}
	return err
}

// readIngestForm reads the fields of a form, in any order.
func (s *server) readIngestForm(ctx context.Context, payloads *batch, fields *form.Reader, source pprof.Source, query url.Values) error {
	var profile []byte
	var jfr recording
	found := false
	for {
		part, err := fields.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch part.Name {
		case fieldProfile:
			if found {
				return refuse(classMalformed, "the form has more than one field %q", fieldProfile)
			}
			profile, found = part.Content, true
		case fieldSampleTypes:
			if err := payloads.memory.grow(ctx, sampleTypesFactor*int64(len(part.Content))); err != nil {
				return err
			}
			name, err := pyroscope.ProfileName(part.Content)
			if err != nil {
				return refuse(malformedUnless(err), "%w", err)
			}
			if name != "" {
				source.ProfileName = name
			}
		case fieldPrevious:
			return refuse(classUnknownFormat, "the form has a field %q: profiles that are to be subtracted from another are not supported, update the client", fieldPrevious)
		case fieldJFR:
			if jfr.content != nil {
				return refuse(classMalformed, "the form has more than one field %q", fieldJFR)
			}
			jfr.content = part.Content
		case fieldLabels:
			jfr.labels = part.Content
		default:
			payloads.metrics.ignored(ctx, 1)
		}
	}
	switch {
	case found && jfr.content != nil:
		return refuse(classMalformed, "the form has a field %q and a field %q", fieldProfile, fieldJFR)
	case jfr.content != nil:
		return s.addRecording(ctx, payloads, jfr, source, query)
	case !found:
		return refuse(classMalformed, "the form has no field %q, nor %q", fieldProfile, fieldJFR)
	}
	return payloads.add(ctx, payload{format: s.pprof, content: profile, source: source, times: ingestTimes(query)})
}

// malformedUnless returns the class of an error of parsing a request: its own, or else malformed.
func malformedUnless(err error) class {
	if class := classify(err); class != classInternal {
		return class
	}
	return classMalformed
}

// succeedOK answers 200 without a body: some clients treat 204 as a failure.
func succeedOK(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// failIngest answers as Pyroscope does: a code and a text, and 422 for profiles that cannot be parsed.
func failIngest(w http.ResponseWriter, _ *http.Request, f failure) {
	if f.class == classMalformed {
		f.status = http.StatusUnprocessableEntity
	}
	failJSON(w, f.status, map[string]any{"code": f.code.name, "message": f.text})
}

func failJSON(w http.ResponseWriter, status int, text any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(text)
}
