// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"encoding/base64"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
)

// maxEscape is the length of the longest escape for one byte of text.
const maxEscape = len(`\u0000`)

// jsonReader parses a message in the JSON form of protobuf. Field names are in camel case, or as in the definition of the
// message.
type jsonReader struct {
	seriesCollector
	jsonscan.Scanner
	labelSet bool
}

// readJSON parses a message in JSON. It decodes the profiles in place: they overwrite parts of message. message must not
// be modified while they are in use.
func (m messageKind) readJSON(message []byte, limit int, memory *meter.Meter) ([]series, error) {
	r := &jsonReader{
		seriesCollector: seriesCollector{limit: limit, memory: memory},
		Scanner:         jsonscan.Scanner{Text: message, Malformed: errMalformedMessage, Continue: memory.Continue},
		labelSet:        m.labelSet,
	}
	err := r.object(func(key []byte) error {
		if string(key) != "series" {
			return r.Skip()
		}
		return r.Array(r.readSeries)
	})
	if err == nil {
		err = r.End()
	}
	return r.series, err
}

// object reads an object, or null, and calls f for each key. f must read the value.
func (r *jsonReader) object(f func(key []byte) error) error {
	return r.Object(func(key []byte) error {
		plain, err := r.unescape(key)
		if err != nil {
			return err
		}
		return f(plain)
	})
}

func (r *jsonReader) readSeries() error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.object(func(key []byte) error {
		switch string(key) {
		case "labels":
			if !r.labelSet {
				return r.Array(r.readLabel)
			}
			return r.object(func(key []byte) error {
				if string(key) != "labels" {
					return r.Skip()
				}
				return r.Array(r.readLabel)
			})
		case "samples":
			return r.Array(r.readSample)
		default:
			return r.Skip()
		}
	})
}

func (r *jsonReader) readLabel() error {
	var name, value string
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			name, err = r.labelText(maxLabelName)
		case "value":
			value, err = r.labelText(maxLabelValue)
		default:
			err = r.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.addLabel(name, value)
}

// labelText reads a string, or null. The result can be slightly longer than limit.
func (r *jsonReader) labelText(limit int) (string, error) {
	if r.Word("null") {
		return "", nil
	}
	raw, err := r.Literal()
	switch {
	case err != nil:
		return "", err
	case len(raw) > limit*maxEscape:
		return "", labelsTooLarge("bytes of a label's name or value: more than %d, the limit is %d", len(raw)/maxEscape, limit)
	}
	plain, err := r.unescape(raw)
	return string(plain), err
}

// unescape returns raw without escapes. Clients rarely send any.
func (r *jsonReader) unescape(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	if err := r.memory.Use(int64(len(raw))); err != nil {
		return nil, err
	}
	return jsonscan.Unescape(raw), nil
}

func (r *jsonReader) readSample() error {
	var profile []byte
	err := r.object(func(key []byte) error {
		if string(key) != "rawProfile" && string(key) != "raw_profile" {
			return r.Skip()
		}
		if profile = nil; r.Word("null") {
			return nil
		}
		raw, err := r.Literal()
		if err == nil {
			raw, err = r.unescape(raw)
		}
		if err == nil {
			profile, err = decodeBase64(raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.addProfile(profile)
}

// decodeBase64 decodes both alphabets, with or without padding, as the JSON form of protobuf allows. It overwrites text.
func decodeBase64(text []byte) ([]byte, error) {
	text = bytes.TrimRight(text, "=")
	for i, c := range text {
		switch c {
		case '-':
			text[i] = '+'
		case '_':
			text[i] = '/'
		}
	}
	n, err := base64.RawStdEncoding.Decode(text, text)
	if err != nil {
		return nil, malformedMessage("rawProfile is not base64: %w", err)
	}
	return text[:n], nil
}
