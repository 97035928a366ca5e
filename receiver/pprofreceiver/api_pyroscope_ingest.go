// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	source, err := s.newSource(r, nil)
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
	parts, err := s.readForm(payloads.memory, body, boundary, maxIngestParts)
	if err != nil {
		return err
	}
	var profile, recording, labels []byte
	for _, part := range parts {
		switch part.name {
		case fieldProfile:
			if profile != nil {
				return newRefusal(malformed, "the form has more than one field %q", fieldProfile)
			}
			profile = part.content
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
			payloads.metrics.ignored(ctx)
		}
	}
	as := s.pprof
	switch {
	case profile != nil && recording != nil:
		return newRefusal(malformed, "the form has a field %q and a field %q", fieldProfile, fieldJFR)
	case recording != nil:
		as, profile = s.recordingFormat(labels, query), recording
	case profile == nil:
		return newRefusal(malformed, "the form has no field %q, nor %q", fieldProfile, fieldJFR)
	}
	return payloads.add(ctx, payload{format: as, content: profile, source: source, times: ingestTimes(query)})
}

// failIngest writes an error in Pyroscope's format: a code and a text. The status for profiles that cannot be parsed is
// 422.
func failIngest(w http.ResponseWriter, _ *http.Request, f failure) {
	if f.refusalClass == malformed {
		f.status = http.StatusUnprocessableEntity
	}
	failJSON(w, f.status, map[string]any{"code": f.connectCode(), "message": f.text})
}

// parseName parses the parameter name, app{key=value,key=value}. Values are not quoted, so they cannot contain a comma.
func parseName(name string) (app string, labels []label, err error) {
	app, list, labelled := strings.Cut(name, "{")
	app = strings.TrimSpace(app)
	if app == "" {
		return "", nil, newRefusal(badQuery, "name %.64q names no application, it must be app{key=value,...}", name)
	}
	if len(app) > maxLabelValue {
		return "", nil, labelsTooLarge("bytes of the application's name: %d, the limit is %d", len(app), maxLabelValue)
	}
	app = validText(app)
	if !labelled {
		return app, nil, nil
	}
	list, closed := strings.CutSuffix(strings.TrimSpace(list), "}")
	if !closed {
		return "", nil, newRefusal(badQuery, "name %.64q does not end with a closing brace", name)
	}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return "", nil, newRefusal(badQuery, "name %.64q: the label %.64q is not key=value", name, pair)
		}
		if labels, err = appendLabel(labels, key, strings.TrimSpace(value)); err != nil {
			return "", nil, err
		}
	}
	return app, labels, nil
}

// parseTime parses the parameters from and until: YYYYMMDD in UTC; seconds, milliseconds, microseconds or nanoseconds
// since 1970. It returns false for anything else, such as now-1h: a retry repeats the words, but later.
func parseTime(text string) (time.Time, bool) {
	if len(text) == len("20060102") {
		day, err := time.ParseInLocation("20060102", text, time.UTC)
		return day, err == nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return time.Time{}, false
	}
	switch digits := len(text); {
	case digits <= 11:
		return time.Unix(number, 0).UTC(), true
	case digits <= 14:
		return time.UnixMilli(number).UTC(), true
	case digits <= 17:
		return time.UnixMicro(number).UTC(), true
	default:
		return time.Unix(0, number).UTC(), true
	}
}

// maxConfigBytes limits sample_type_config.
const maxConfigBytes = 64 << 10

// displayedName returns the name of the profile from the display names in a sample_type_config: mutex for mutex_count and
// mutex_duration. It returns "" if they have no name, or several.
func displayedName(config []byte) (string, error) {
	if len(config) > maxConfigBytes {
		return "", labelsTooLarge("bytes of sample_type_config: %d, the limit is %d", len(config), maxConfigBytes)
	}
	// The rest of the configuration is for databases; the profile has its own units.
	var types map[string]struct {
		DisplayName string `json:"display-name"`
	}
	if err := json.Unmarshal(config, &types); err != nil {
		return "", newRefusal(malformed, "cannot read sample_type_config: %w", err)
	}
	name := ""
	for _, key := range slices.Sorted(maps.Keys(types)) {
		display := baseName(types[key].DisplayName)
		switch {
		case display == "" || display == name:
		case name == "":
			name = display
		default:
			return "", nil
		}
	}
	return validText(name[:min(len(name), maxLabelName)]), nil
}

// baseName removes the suffix for the measurement from a display name.
func baseName(display string) string {
	if base, found := strings.CutSuffix(display, "_count"); found {
		return base
	}
	return strings.TrimSuffix(display, "_duration")
}
