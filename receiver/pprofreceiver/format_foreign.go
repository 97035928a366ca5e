// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
)

// foreignBegins are the first bytes of formats that are known, but not translated. What is sent instead ends the error.
var foreignBegins = []struct{ begin, format, instead string }{
	{"PERFILE2", "perf.data", ": send the output of perf script as format " + formatPerfScript},
	{"2ELIFREP", "perf.data", ": send the output of perf script as format " + formatPerfScript},
	{"heap_v2/", "jemalloc heap", ": convert it with jeprof"},
	{"# callgrind format", "callgrind", ""},
}

// refuseForeign returns the error for a payload that could not be translated: one that names its format, if that is known.
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

// isCallgrind recognises the header of older versions, whose first line is optional.
func isCallgrind(payload []byte) bool {
	header := payload[:min(len(payload), 512)]
	return bytes.HasPrefix(header, []byte("version: 1")) && bytes.Contains(header, []byte("\ncreator: callgrind"))
}
