// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// unnamed returns the format of a payload whose request does not name it. It is a pprof if it can be read as one. Only another payload is
// compared with other formats.
func (f *formats) unnamed(asPprof payloadFormat) payloadFormat {
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := asPprof(payload, source)
		if len(stats.Begin) == 0 || classOf(err) != malformed {
			return profiles, stats, err
		}
		recognized, failure := f.recognize(stats.Begin, source.Reserve)
		switch {
		case failure != nil:
			return profiles, stats, failure
		case recognized != nil:
			return recognized(payload, source)
		case isText(stats.Begin):
			err = newRefusal(malformed, "the payload is text or JSON, not a pprof, and begins like no format that is recognized: name its format with format=, one of %s", formatNames())
		}
		return profiles, stats, err
	}
}

// recognize returns the format of a payload that begins like this, or nil. err is not about the payload.
func (f *formats) recognize(begin []byte, reserve func(bytes int64) error) (payloadFormat, error) {
	for i := range namedFormats {
		named := &namedFormats[i]
		if named.isIn == nil || !named.isIn(begin) {
			continue
		}
		format := f.text(named, 0)
		if !named.isLines {
			return format, nil
		}
		if isRead, err := readsLines(format, begin, reserve); isRead || err != nil {
			return format, err
		}
	}
	return nil, nil
}

// readsLines reports whether a format reads the first lines of a payload, and gets a frame from them. err is not about the payload.
func readsLines(format payloadFormat, begin []byte, reserve func(bytes int64) error) (isRead bool, err error) {
	if len(begin) == pprof.BeginBytes {
		begin = begin[:bytes.LastIndexByte(begin, '\n')+1] // The last line may be longer.
	}
	profiles, _, err := format(begin, pprof.Source{Reserve: reserve})
	switch {
	case err == nil:
		return profiles.Dictionary().LocationTable().Len() > 1, nil
	case errors.Is(err, text.ErrTooLarge):
		return true, nil // The whole payload is refused for the same reason.
	case errors.Is(err, text.ErrMalformed):
		return false, nil
	default:
		return false, err
	}
}

// hasSemicolon reports whether a payload can be collapsed stacks: one of the first ones has two frames.
func hasSemicolon(begin []byte) bool { return isText(begin) && bytes.IndexByte(begin, ';') >= 0 }

// isSpeedscope recognizes a file by its schema, or by its frames.
func isSpeedscope(begin []byte) bool {
	return bytes.HasPrefix(jsonField(begin, "$schema"), []byte(`"https://www.speedscope.app/file-format-schema.json"`)) ||
		jsonField(jsonField(begin, "shared"), "frames") != nil
}

// isCPUProfile recognizes a file by its first node, or by the times between samples.
func isCPUProfile(begin []byte) bool {
	return jsonField(jsonFirst(jsonField(begin, "nodes")), "callFrame") != nil || jsonField(begin, "timeDeltas") != nil
}

// isText reports whether these are the first bytes of a text.
func isText(begin []byte) bool {
	for at := 0; at < len(begin); {
		r, size := utf8.DecodeRune(begin[at:])
		isControl := r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if isControl || r == utf8.RuneError && size == 1 && utf8.FullRune(begin[at:]) {
			return false
		}
		at += size
	}
	return true
}

// jsonField returns the text from the value of a field on, or nil if the text does not begin with an object that has this field. The
// object may end after the text.
func jsonField(object []byte, name string) (value []byte) {
	s := jsonscan.Scanner{Text: object, Malformed: text.ErrMalformed}
	_ = s.Object(func(key []byte) error {
		if s.Peek(); string(key) == name {
			value = object[s.At:]
		}
		return s.Skip()
	})
	return value
}

// jsonFirst returns the text from the first item of an array on, or nil.
func jsonFirst(array []byte) []byte {
	items, isArray := bytes.CutPrefix(bytes.TrimLeft(array, " \t\r\n"), []byte("["))
	if !isArray {
		return nil
	}
	return items
}
