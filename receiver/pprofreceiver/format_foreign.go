// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"regexp"
)

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
