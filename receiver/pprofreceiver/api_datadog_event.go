// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"encoding/json"
	"strings"
	"time"
)

// maxEventBytes limits the event, which may hold a count for each endpoint of a program.
const maxEventBytes = 4 << 20

// datadogEvent describes the profiles of an upload.
type datadogEvent struct {
	// times are zero if the event does not have them.
	times times
	// tags has the tags of the profiler, then those of the process.
	tags []label
}

// parseEvent parses event.json.
func parseEvent(text []byte) (datadogEvent, error) {
	if len(text) > maxEventBytes {
		return datadogEvent{}, labelsTooLarge("bytes of the event: %d, the limit is %d", len(text), maxEventBytes)
	}
	var wire struct {
		Start       time.Time `json:"start"`
		End         time.Time `json:"end"`
		Tags        string    `json:"tags_profiler"`
		ProcessTags string    `json:"process_tags"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return datadogEvent{}, newRefusal(malformed, "cannot read the event: %w", err)
	}
	event := datadogEvent{times: times{start: wire.Start, end: wire.End}}
	var err error
	if event.tags, err = appendTags(nil, wire.Tags); err != nil {
		return datadogEvent{}, err
	}
	event.tags, err = appendTags(event.tags, wire.ProcessTags)
	return event, err
}

// The fields of a form that has no event: version 3 of the protocol.
const (
	fieldStart = "start"
	fieldEnd   = "end"
	fieldTag   = "tags[]"
)

// isEventField reports whether [datadogEvent.setField] knows a field of a form.
func isEventField(name string) bool {
	return name == fieldStart || name == fieldEnd || name == fieldTag
}

// setField sets the part of the event that a field of the form has. Each field with tags adds some.
func (e *datadogEvent) setField(name, text string) (err error) {
	switch name {
	case fieldStart:
		e.times.start, err = time.Parse(time.RFC3339, text)
	case fieldEnd:
		e.times.end, err = time.Parse(time.RFC3339, text)
	case fieldTag:
		e.tags, err = appendTags(e.tags, text)
		return err
	}
	if err != nil {
		return newRefusal(malformed, "cannot read the field %s: %w", name, err)
	}
	return nil
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
