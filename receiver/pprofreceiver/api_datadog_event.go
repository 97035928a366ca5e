// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

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
