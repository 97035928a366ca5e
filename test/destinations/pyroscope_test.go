// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// What Pyroscope takes by default.
const (
	maxSamples       = 16_000
	maxInflatedBytes = 4 << 20
	maxSeriesLabels  = 30
	maxNameBytes     = 1024
	maxValueBytes    = 2048
)

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]*$`)
	uuid       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// readPush reads a PushRequest of Pyroscope's push.v1.
func readPush(r *http.Request, body []byte) (took []series, err error) {
	if kind := r.Header.Get("Content-Type"); kind != "application/proto" {
		return nil, fmt.Errorf("Content-Type is %q", kind)
	}
	return took, fields(body, func(number protowire.Number, value []byte) error {
		one := series{request: line(r), labels: map[string]string{}}
		if number != 1 {
			return fmt.Errorf("field %d of PushRequest", number)
		}
		var payload []byte
		id := ""
		err := fields(value, func(number protowire.Number, value []byte) error {
			var inner [3][]byte
			if err := fields(value, func(n protowire.Number, value []byte) error {
				inner[min(n, 2)] = value
				return nil
			}); err != nil {
				return err
			}
			switch number {
			case 1:
				return one.add(string(inner[1]), string(inner[2]))
			case 2:
				payload, id = inner[1], string(inner[2])
				return nil
			}
			return fmt.Errorf("field %d of RawProfileSeries", number)
		})
		if err == nil && !uuid.MatchString(id) {
			err = fmt.Errorf("id %q", id)
		}
		if err == nil {
			one.name = one.labels["__name__"]
			_, err = one.take(payload)
		}
		took = append(took, one)
		return err
	})
}

// fields calls do for the fields of a message, all of which hold bytes.
func fields(message []byte, do func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind != protowire.BytesType {
			return fmt.Errorf("field %d: type %d", number, kind)
		}
		value, m := protowire.ConsumeBytes(message[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		if err := do(number, value); err != nil {
			return err
		}
		message = message[n+m:]
	}
	return nil
}

// readIngest reads a form of Pyroscope's /ingest.
func readIngest(r *http.Request, body []byte) ([]series, error) {
	query := r.URL.Query()
	one := series{request: line(r) + " from=" + query.Get("from") + " until=" + query.Get("until"), labels: map[string]string{}}
	application, rest, found := strings.Cut(query.Get("name"), "{")
	if !found || !strings.HasSuffix(rest, "}") {
		return nil, fmt.Errorf("name %q", query.Get("name"))
	}
	for pair := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		name, value, _ := strings.Cut(pair, "=")
		if err := one.add(name, value); name != "" && err != nil {
			return nil, err
		}
	}
	if err := one.add("service_name", application); err != nil {
		return nil, err
	}
	if err := one.add("pyroscope_spy", query.Get("spyName")); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(form)
	if err != nil {
		return nil, err
	}
	display := map[string]struct {
		DisplayName string `json:"display-name"`
	}{}
	if config := parts["sample_type_config"]; config != nil {
		if err := json.Unmarshal(config, &display); err != nil {
			return nil, err
		}
	}
	p, err := one.take(parts["profile"])
	if err != nil {
		return nil, err
	}
	for _, t := range p.SampleType {
		one.name = ingestName(one.name, t.Type, display[t.Type].DisplayName)
	}
	return []series{one}, nil
}

func partsOf(form *multipart.Reader) (map[string][]byte, error) {
	parts := map[string][]byte{}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if parts[part.FormName()], err = io.ReadAll(part); err != nil {
			return nil, err
		}
	}
}

// ingestName is how Pyroscope names a profile on /ingest: wall if any type is that, else by the first type that says more.
func ingestName(known, sampleType, displayName string) string {
	shown := sampleType
	if displayName != "" {
		shown = displayName
	}
	switch {
	case sampleType == "wall" || known == "wall":
		return "wall"
	case known != "":
		return known
	case shown == "samples" || strings.Contains(shown, "cpu"):
		return "process_cpu"
	case strings.Contains(shown, "alloc_"), strings.Contains(shown, "inuse_"), shown == "space", shown == "objects":
		return "memory"
	case strings.Contains(shown, "mutex_"):
		return "mutex"
	case strings.Contains(shown, "block_"):
		return "block"
	case strings.Contains(shown, "goroutine"):
		return "goroutines"
	}
	return shown
}

// add adds a label, which Pyroscope may refuse.
func (s *series) add(name, value string) error {
	_, twice := s.labels[name]
	if twice || name == "" || value == "" || len(name) > maxNameBytes || len(value) > maxValueBytes || !labelName.MatchString(name) {
		return fmt.Errorf("label %q=%q", name, value)
	}
	s.labels[name] = value
	return nil
}

// take reads the profile by Pyroscope's rules.
func (s *series) take(payload []byte) (*profile.Profile, error) {
	if len(s.labels) > maxSeriesLabels || s.labels["service_name"] == "" {
		return nil, fmt.Errorf("labels %v", s.labels)
	}
	if s.name != "" && !metricName.MatchString(s.name) {
		return nil, fmt.Errorf("name %q", s.name)
	}
	p, err := s.read(payload)
	if err != nil {
		return nil, err
	}
	for _, t := range p.SampleType {
		if strings.Contains(t.Type, "-") {
			return nil, fmt.Errorf("sample type %q", t.Type)
		}
	}
	if len(p.Sample) > maxSamples {
		return nil, fmt.Errorf("%d samples", len(p.Sample))
	}
	return p, nil
}
