// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"errors"
	"regexp"
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

// What to do with a payload in a format that is not supported.
const (
	bySpeedscope = "open it in speedscope and send its export with format=speedscope"
	withoutDebug = "send what Go's net/http/pprof answers without the parameter debug"
)

// foreignFormats are known formats that are not supported. is gets the first bytes of a payload, with nothing before them but its mark.
var foreignFormats = []struct {
	name    string
	is      func(begin []byte) bool
	instead string
}{
	{"perf.data", begins("PERFILE2", "2ELIFREP"), "send the output of perf script with format=perf_script"},
	{"jemalloc heap", begins("heap_v2/"), "convert it with jeprof --collapsed, and send that with format=folded"},
	{"callgrind", isCallgrind, bySpeedscope},
	{"goroutine stacks", regexp.MustCompile(`^goroutine \d+ .*\[`).Match, withoutDebug},
	{"Go execution trace", regexp.MustCompile(`^go 1\.\d+ trace\x00`).Match, "convert it with go tool trace -pprof=TYPE, and send that without format"},
	{"MOJO of Austin", begins("MOJ"), "convert it with mojo2austin, and send that with format=folded"},
	{"Java heap dump", begins("JAVA PROFILE 1."), "it has objects: record a profile with JDK Flight Recorder, and send that with format=jfr"},
	{"HTML or SVG", isPage, withoutDebug},
	{"Chrome trace", isChromeTrace, "record a .cpuprofile and send it with format=cpuprofile, or " + bySpeedscope},
	{"V8 heap snapshot", func(begin []byte) bool { return jsonField(begin, "snapshot") != nil }, "it has objects: record a .heapprofile, " + bySpeedscope},
	{"V8 heap profile or older CPU profile", func(begin []byte) bool { return jsonField(begin, "head") != nil }, bySpeedscope},
	{"Firefox profile", func(begin []byte) bool { return jsonField(jsonField(begin, "meta"), "processType") != nil }, bySpeedscope},
	{"OTLP as JSON", func(begin []byte) bool { return jsonField(begin, "resourceProfiles") != nil }, "send it to the receiver otlp"},
}

// refuseForeign returns the error for a payload that cannot be translated, of which these are the first bytes. If the format is known,
// the error names it.
func refuseForeign(begin []byte, err error) error {
	if class := classOf(err); class != malformed && class != notPprof {
		return err
	}
	for _, known := range foreignFormats {
		if known.is(begin) {
			return newRefusal(unknownFormat, "format %q is not supported: %s", known.name, known.instead)
		}
	}
	return err
}

// begins returns a function that reports whether a payload begins with one of these texts.
func begins(marks ...string) func(begin []byte) bool {
	return func(begin []byte) bool {
		for _, mark := range marks {
			if bytes.HasPrefix(begin, []byte(mark)) {
				return true
			}
		}
		return false
	}
}

// isCallgrind recognizes the header. In older versions, the first line is optional.
func isCallgrind(begin []byte) bool {
	header := begin[:min(len(begin), 512)]
	return begins("# callgrind format")(begin) || begins("version: 1")(begin) && bytes.Contains(header, []byte("\ncreator: callgrind"))
}

// isPage recognizes HTML, and XML such as SVG.
func isPage(begin []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(begin[:min(len(begin), 64)]))
	return begins("<!doctype", "<html", "<?xml", "<svg")(start)
}

// isChromeTrace recognizes an object with the field traceEvents, and an array of events.
func isChromeTrace(begin []byte) bool {
	first := jsonFirst(begin)
	return jsonField(begin, "traceEvents") != nil || jsonField(first, "ph") != nil && jsonField(first, "pid") != nil
}
