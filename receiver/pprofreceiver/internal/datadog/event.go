// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package datadog parses the event and the tags that Datadog's profilers send with their profiles.
package datadog

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

// maxEventBytes limits the event, which may hold a count for each endpoint of a program.
const maxEventBytes = 4 << 20

// Event describes the profiles of an upload.
type Event struct {
	// Start and End are zero if the event does not have them.
	Start time.Time
	End   time.Time
	// Tags has the tags of the profiler, then those of the process.
	Tags []label.Label
}

// ParseEvent parses event.json. The error is [label.ErrTooLarge] or one of encoding/json.
func ParseEvent(text []byte) (Event, error) {
	if len(text) > maxEventBytes {
		return Event{}, fmt.Errorf("%w: bytes of the event: %d, the limit is %d", label.ErrTooLarge, len(text), maxEventBytes)
	}
	var wire struct {
		Start       time.Time `json:"start"`
		End         time.Time `json:"end"`
		Tags        string    `json:"tags_profiler"`
		ProcessTags string    `json:"process_tags"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return Event{}, fmt.Errorf("cannot read the event: %w", err)
	}
	event := Event{Start: wire.Start, End: wire.End}
	var err error
	if event.Tags, err = AppendTags(nil, wire.Tags); err != nil {
		return Event{}, err
	}
	event.Tags, err = AppendTags(event.Tags, wire.ProcessTags)
	return event, err
}

// The fields of a form that has no event: version 3 of the protocol.
const (
	fieldStart = "start"
	fieldEnd   = "end"
	fieldTag   = "tags[]"
)

// IsField reports whether [Event.SetField] knows a field of a form.
func IsField(name string) bool { return name == fieldStart || name == fieldEnd || name == fieldTag }

// SetField sets the part of the event that a field of the form has. Each field with tags adds some. The error is
// [label.ErrTooLarge] or one of time.
func (e *Event) SetField(name, text string) (err error) {
	switch name {
	case fieldStart:
		e.Start, err = time.Parse(time.RFC3339, text)
	case fieldEnd:
		e.End, err = time.Parse(time.RFC3339, text)
	case fieldTag:
		e.Tags, err = AppendTags(e.Tags, text)
		return err
	}
	if err != nil {
		return fmt.Errorf("cannot read the field %s: %w", name, err)
	}
	return nil
}

// AppendTags appends tags, key:value,key:value, to list. A value can contain colons. Tags without a value are ignored.
// The error is [label.ErrTooLarge].
func AppendTags(list []label.Label, text string) ([]label.Label, error) {
	var err error
	for tag := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(tag, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" || value == "" {
			continue
		}
		if list, err = label.Append(list, key, value); err != nil {
			return list, err
		}
	}
	return list, nil
}
