// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
)

// foreignBegins has the first bytes of known formats that are not supported. instead is appended to the error.
var foreignBegins = []struct{ begin, format, instead string }{
	{"PERFILE2", "perf.data", ": send the output of perf script with format=perf_script"},
	{"2ELIFREP", "perf.data", ": send the output of perf script with format=perf_script"},
	{"heap_v2/", "jemalloc heap", ": convert it with jeprof"},
	{"# callgrind format", "callgrind", ""},
}

// refuseForeign returns the error for a payload that cannot be translated. If the format is known, the error names it.
func refuseForeign(payload []byte, err error) error {
	if class := classify(err); class != classMalformed && class != classNotPprof {
		return err
	}
	for _, known := range foreignBegins {
		if bytes.HasPrefix(payload, []byte(known.begin)) {
			return refuse(classUnknownFormat, "format %q is not supported%s", known.format, known.instead)
		}
	}
	if isCallgrind(payload) {
		return refuse(classUnknownFormat, "format %q is not supported", "callgrind")
	}
	return err
}

// isCallgrind recognizes the header of older versions, in which the first line is optional.
func isCallgrind(payload []byte) bool {
	header := payload[:min(len(payload), 512)]
	return bytes.HasPrefix(header, []byte("version: 1")) && bytes.Contains(header, []byte("\ncreator: callgrind"))
}
