// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/wire/jsonscan"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// unnamedFormat is the format of a payload whose request does not name it. It is a pprof if it can be read as one. Only another payload
// is compared with other formats.
type unnamedFormat struct {
	formats *Formats
	pprof   Format
}

// Unnamed returns the format of a payload whose request does not name it. pprof is the format of a pprof.
func (f *Formats) Unnamed(pprof Format) Format { return unnamedFormat{formats: f, pprof: pprof} }

// Decode translates a payload.
func (f unnamedFormat) Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	profiles, stats, err := f.pprof.Decode(payload, source)
	if len(stats.Begin) == 0 || refusal.Of(err) != refusal.Malformed {
		return profiles, stats, err
	}
	for i := range namedFormats {
		named := &namedFormats[i]
		if named.isIn == nil || !named.isIn(stats.Begin) {
			continue
		}
		format := f.formats.Text(named, 0)
		if named.isLines {
			isRead, failure := readsLines(format, stats.Begin, source.Reserve)
			if failure != nil {
				return profiles, stats, failure
			}
			if !isRead {
				continue
			}
		}
		return format.Decode(payload, source)
	}
	if isText(stats.Begin) {
		err = refusal.New(refusal.Malformed, "the payload is text or JSON, not a pprof, and begins like no format that is recognized: name its format with format=, one of %s", formatNames())
	}
	return profiles, stats, err
}

// readsLines reports whether a format reads the first lines of a payload, and gets a frame from them. err is not about the payload.
func readsLines(format Format, begin []byte, reserve func(bytes int64) error) (isRead bool, err error) {
	if len(begin) == pprof.BeginBytes {
		begin = begin[:bytes.LastIndexByte(begin, '\n')+1] // The last line may be longer.
	}
	profiles, _, err := format.Decode(begin, pprof.Source{Reserve: reserve})
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
