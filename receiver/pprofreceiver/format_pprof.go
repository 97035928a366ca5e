// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"errors"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// pprof returns the format profile.proto and, if allowed, those before it, which are converted to profile.proto. It passes recordings on to
// their own format. hint is appended to the error for older formats if they are not allowed.
func (f *formats) pprof(legacyAllowed bool, hint string) payloadFormat {
	recording := f.jfr(nil, 0)
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := f.decoder.Decode(payload, source)
		switch {
		case errors.Is(err, pprof.ErrRecording):
			return recording(payload, source)
		case !errors.Is(err, pprof.ErrNotPprof):
			return profiles, stats, err
		case !legacyAllowed:
			return profiles, stats, newRefusal(notPprof, "%w: it looks like one of the older formats%s", err, hint)
		}
		work := meter.New(0, source.Reserve)
		converted, size, err := convertLegacy(payload, min(f.textOptions.Limits.InflatedBytes, maxLegacyBytes), work)
		size = max(size, stats.InflatedBytes) // The limit of older formats is smaller, but the payload was decompressed before.
		if err != nil {
			return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: size, Begin: stats.Begin}, err
		}
		source.Reserve = work.Reserve
		profiles, stats, err = f.decoder.Decode(converted, source)
		stats.InflatedBytes = size
		return profiles, stats, err
	}
}

// maxLegacyBytes limits payloads in the older formats. Their parser allocates objects of many times their size.
const maxLegacyBytes = 16 << 20

// legacyFactor is the memory of these objects, as a multiple of the size of the payload.
const legacyFactor = 40

// convertLegacy returns a payload in one of the text and binary formats that are older than profile.proto as profile.proto, and its decompressed size, which is the size up to the error if decompression fails.
// The memory of the result stays in use.
func convertLegacy(payload []byte, limit int, work *meter.Meter) (converted []byte, size int, err error) {
	plain, size, err := inflate.Into(nil, payload, limit, work)
	if err != nil {
		return nil, size, newRefusal(classOf(err), "payload in an older format: %w", err)
	}
	if err := checkMaps(plain); err != nil {
		return nil, size, err
	}
	if err := work.Need(legacyFactor * int64(len(plain))); err != nil {
		return nil, size, err
	}
	parsed, err := parseLegacy(plain)
	if err != nil {
		return nil, size, err
	}
	var out bytes.Buffer
	if err := parsed.WriteUncompressed(&out); err != nil {
		return nil, size, newRefusal(malformed, "cannot write the payload as profile.proto: %w", err)
	}
	return out.Bytes(), size, work.Use(int64(out.Cap()))
}

func parseLegacy(plain []byte) (parsed *profile.Profile, err error) {
	defer refusePanic("parse the payload as an older format", &err)
	parsed, err = profile.ParseData(plain)
	if err != nil {
		return nil, newRefusal(malformed, "cannot parse the payload as an older format: %w", err)
	}
	return parsed, nil
}

// google/pprof reads the mappings of an older format line by line. A line name=value makes it replace $name in all later lines, by a
// search that it prepares again after each such line, and it compares each address with each mapping. These limits are far above what
// profilers write.
const (
	maxMapVariables     = 100
	maxMapVariableBytes = 4 << 10
	maxMapReferences    = 10_000
	maxMapComparisons   = 4 << 30
)

// textMapBegins precede the mappings in the text formats.
var textMapBegins = [][]byte{[]byte("--- Memory map: ---"), []byte("MAPPED_LIBRARIES:")}

// mapsOf returns the part of a payload in which google/pprof finds mappings, or more.
func mapsOf(plain []byte) []byte {
	begins := textMapBegins
	if first := plain[:min(len(plain), 8)]; bytes.HasPrefix(first, make([]byte, 4)) {
		// The samples of the binary CPU profile end with the words 0, 1 and 0. Words have 32 or 64 bits in either byte order.
		word := 4
		if len(bytes.Trim(first, "\x00")) == 0 {
			word = 8
		}
		little, big := make([]byte, 3*word), make([]byte, 3*word)
		little[word], big[2*word-1] = 1, 1
		begins = [][]byte{little, big}
	}
	begin := len(plain)
	for _, mark := range begins {
		if at := bytes.Index(plain, mark); at >= 0 {
			begin = min(begin, at+len(mark))
		}
	}
	return plain[begin:]
}

// checkMaps refuses a payload whose mappings would take google/pprof much time or memory.
func checkMaps(plain []byte) error {
	maps := mapsOf(plain)
	lines, variables, references := 0, 0, bytes.Count(maps, []byte("$"))
	for line := range bytes.Lines(maps) {
		lines++
		if bytes.IndexByte(line, '=') < 0 {
			continue
		}
		variables++
		if len(line) > maxMapVariableBytes || bytes.IndexByte(line, '$') >= 0 {
			return newRefusal(tooLarge, "a variable of the mappings has %d bytes or refers to another one, the limit is %d bytes", len(line), maxMapVariableBytes)
		}
	}
	samples := len(plain) - len(maps)
	comparisons := int64(lines) * int64(bytes.Count(plain, []byte("0x"))+samples/8)
	if variables > maxMapVariables || references > maxMapReferences || comparisons > maxMapComparisons {
		return newRefusal(tooLarge, "a limit of the mappings is exceeded: they have %d lines, %d variables and %d references, for %d bytes of samples", lines, variables, references, samples)
	}
	return nil
}
