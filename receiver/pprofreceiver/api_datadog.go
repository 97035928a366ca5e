// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// datadogOtherParts is the number of parts that an upload can have in addition to its profiles.
const datadogOtherParts = 32

// datadogNames maps tags to the attributes of the semantic conventions.
var datadogNames = map[string]string{
	"service":    attributeServiceName,
	"env":        "deployment.environment.name",
	"version":    "service.version",
	"host":       "host.name",
	"runtime-id": "service.instance.id",
}

// agentNames does the same for the tags that an agent adds. They apply if the program does not set its own.
var agentNames = map[string]string{"host": "host.name", "default_env": "deployment.environment.name"}

func (s *server) readDatadog(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	boundary, isForm, err := formBoundary(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return err
	case !isForm:
		return newRefusal(unknownFormat, "Content-Type %.64q is not supported, only multipart/form-data is", r.Header.Get("Content-Type"))
	}
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	parts, err := s.readForm(payloads.memory, body, boundary, s.intake.limits.Payloads+datadogOtherParts)
	if err != nil {
		return err
	}
	event, err := readEvent(payloads.memory, parts)
	if err != nil {
		return err
	}
	source, err := s.newSource(r, nil)
	if err != nil {
		return err
	}
	if err := setFromAgent(&source, r.Header); err != nil {
		return err
	}
	setFromLabels(&source, event.tags, datadogNames)
	for _, part := range parts {
		name, as := attachmentName(part), s.intake.formats.container(s.pprof, suffixPprof)
		switch {
		case part.name == fieldEvent, slices.Contains(eventFields, part.name):
			continue
		case strings.HasSuffix(name, suffixJFR):
			as = s.intake.formats.jfr(nil, 0)
		case !strings.HasSuffix(name, suffixPprof):
			payloads.metrics.ignored(ctx)
			continue
		}
		ofPart := source
		ofPart.ProfileName = cmp.Or(profileNameOf(name), source.ProfileName)
		if err := payloads.addOneOf(ctx, name, payload{format: as, content: part.content, source: ofPart, times: event.times}); err != nil {
			return err
		}
	}
	return nil
}

// readEvent returns the event that describes the profiles of a form. Older profilers describe them in fields, without an event.
func readEvent(m *requestMemory, parts []formPart) (event datadogEvent, err error) {
	var fields datadogEvent
	hasEvent := false
	for _, part := range parts {
		size := int64(len(part.content))
		switch {
		case part.name == fieldEvent:
			hasEvent = true
			if size <= maxEventBytes {
				err = cmp.Or(m.Need(eventFactor*size), m.Use(2*size))
			}
			if err == nil {
				event, err = parseEvent(part.content)
			}
		case slices.Contains(eventFields, part.name):
			if err = m.Use(size); err == nil {
				err = fields.setField(part.name, string(part.content))
			}
		}
		if err != nil {
			return event, err
		}
	}
	if !hasEvent {
		return fields, nil
	}
	return event, nil
}

// attachmentName returns the name of a file. Older profilers have it in the name of the field: data[cpu.pprof]. The oldest number the fields,
// and the files are pprofs: data[0] with the file wall.pb.gz.
func attachmentName(part formPart) string {
	if name, found := strings.CutPrefix(strings.TrimSuffix(part.name, "]"), "data["); found {
		if _, err := strconv.Atoi(name); err == nil && part.fileName != "" {
			return strings.TrimSuffix(part.fileName, ".pb.gz") + suffixPprof
		}
		return name
	}
	if part.fileName != "" {
		return part.fileName
	}
	return part.name
}

// profileNameOf returns the name of the profile in an attachment. It omits the prefix delta-, which most profiles have.
func profileNameOf(attachment string) string {
	name := strings.TrimPrefix(strings.TrimSuffix(attachment, suffixPprof), "delta-")
	if name == "auto" || name == "profile" || name == "pprof-data" || len(name) > maxLabelName {
		return ""
	}
	return validText(name)
}

// setFromAgent sets the attributes that clients and agents send in headers: the container id, and tags. Those of the
// event override them.
func setFromAgent(source *pprof.Source, header http.Header) (err error) {
	var tags []label
	for _, name := range []string{"X-Datadog-Container-Tags", "X-Datadog-Additional-Tags"} {
		if tags, err = appendTags(tags, header.Get(name)); err != nil {
			return err
		}
	}
	if tags, err = appendLabel(tags, "container.id", header.Get("Datadog-Container-ID")); err != nil {
		return err
	}
	setFromLabels(source, tags, agentNames)
	return nil
}

const (
	// maxEventBytes limits the event, which may hold a count for each endpoint of a program.
	maxEventBytes = 4 << 20
	// eventFactor is the memory to parse the event, as a multiple of its size: encoding/json enlarges its buffer step by step.
	eventFactor = 14
	// maxTimeBytes limits a time. The errors of package time quote all of it.
	maxTimeBytes = 64
)

// datadogEvent describes the profiles of an upload.
type datadogEvent struct {
	// times are zero if the event does not have them.
	times times
	// tags has the tags of the profiler, then those of the process.
	tags []label
}

// parseEvent parses event.json.
func parseEvent(text []byte) (event datadogEvent, err error) {
	if len(text) > maxEventBytes {
		return event, labelsTooLarge("bytes of the event: %d, the limit is %d", len(text), maxEventBytes)
	}
	var wire struct {
		Start       string `json:"start"`
		End         string `json:"end"`
		Tags        string `json:"tags_profiler"`
		ProcessTags string `json:"process_tags"`
	}
	if err = json.Unmarshal(text, &wire); err != nil {
		return event, newRefusal(malformed, "cannot read the event: %w", err)
	}
	err = cmp.Or(
		event.setField(fieldStart, wire.Start), event.setField(fieldEnd, wire.End),
		event.setField(fieldTag, wire.Tags), event.setField(fieldTag, wire.ProcessTags),
	)
	return event, err
}

// fieldEvent is the field of a form with the event.
const fieldEvent = "event"

// The fields of a form that has no event: version 3 of the protocol.
const (
	fieldStart = "start"
	fieldEnd   = "end"
	fieldTag   = "tags[]"
	// Those of the oldest profilers.
	fieldRecordingStart = "recording-start"
	fieldRecordingEnd   = "recording-end"
)

// eventFields are those that [datadogEvent.setField] knows.
var eventFields = []string{fieldStart, fieldEnd, fieldTag, fieldRecordingStart, fieldRecordingEnd}

// setField sets the part of the event that a field of the form has. Each field with tags adds some.
func (e *datadogEvent) setField(name, text string) (err error) {
	switch name {
	case fieldStart, fieldRecordingStart:
		e.times.start, err = eventTime(name, text)
	case fieldEnd, fieldRecordingEnd:
		e.times.end, err = eventTime(name, text)
	case fieldTag:
		e.tags, err = appendTags(e.tags, text)
	}
	return err
}

// eventTime reads the time in a field of an event or a form. It is zero if the field is empty.
func eventTime(field, text string) (at time.Time, err error) {
	switch {
	case text == "":
		return at, nil
	case len(text) > maxTimeBytes:
		return at, labelsTooLarge("bytes of the field %s: %d, the limit is %d", field, len(text), maxTimeBytes)
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, newRefusal(malformed, "cannot read the field %s: %w", field, err)
	}
	return at, nil
}

// appendTags appends tags, key:value,key:value, to list. A value can contain colons. Tags without a value are ignored.
func appendTags(list []label, text string) ([]label, error) {
	var err error
	for tag := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(tag, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" || value == "" {
			continue
		}
		if list, err = appendLabel(list, key, value); err != nil {
			return list, err
		}
	}
	return list, nil
}
