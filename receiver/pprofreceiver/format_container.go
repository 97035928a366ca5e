// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/pierrec/lz4/v4"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The first bytes of containers. Datadog's libraries put recordings into lz4 and zip, and pprofs into lz4.
const (
	lz4Magic = "\x04\x22\x4d\x18"
	zipMagic = "PK\x03\x04"
)

// The ends of the names of files with a profile.
const (
	suffixPprof = ".pprof"
	suffixJFR   = ".jfr"
)

const (
	// lz4DecoderBytes is the memory of the lz4 decompressor: two blocks of up to 8 MiB.
	lz4DecoderBytes = 16 << 20
	// zipFactor is the memory for the directory of a zip, as a multiple of the size of the zip.
	zipFactor = 16
	// zipDecoderBytes is the memory of the zip decompressor.
	zipDecoderBytes = 64 << 10
)

// jfr returns the format of a recording of JDK Flight Recorder, from the JDK or a profiler, optionally in a container. The recording
// determines the names of the profiles. labels is the labels snapshot of Pyroscope's agents, or nil. period is the time between two
// samples for a recording that does not have it. 0 means unknown.
func (f *formats) jfr(labels []byte, period time.Duration) payloadFormat {
	return f.container(func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := f.recordings.Decode(payload, jfr.Source{Source: source, Labels: labels, Period: period})
		f.logSkipped(stats.Skipped)
		return profiles, stats.DecodeStats, err
	}, suffixJFR)
}

// container returns a format whose payloads can be in a container. suffix is the end of the name of the only file in a zip that is read.
func (f *formats) container(content payloadFormat, suffix string) payloadFormat {
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		work := meter.New(0, source.Reserve)
		unpacked, err := f.unpack(payload, suffix, work)
		if err != nil {
			return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: int(min(work.Used(), int64(f.textOptions.Limits.InflatedBytes)))}, err
		}
		isContainer := work.Used() > 0
		if isContainer {
			source.Reserve = work.Reserve
		}
		profiles, stats, err := content(unpacked, source)
		if isContainer {
			// The content can be compressed, and smaller after decompression.
			stats.InflatedBytes = max(stats.InflatedBytes, len(unpacked))
		}
		return profiles, stats, err
	}
}

// unpack returns the content of a payload, which can still be compressed with gzip or zstd. A payload that is no container is returned
// unchanged. Its memory stays in use.
func (f *formats) unpack(payload []byte, suffix string, work *meter.Meter) (content []byte, err error) {
	defer refusePanic("unpack the payload", &err)
	switch {
	case bytes.HasPrefix(payload, []byte(lz4Magic)):
		if err := work.Use(lz4DecoderBytes); err != nil {
			return nil, err
		}
		return f.readAll(lz4.NewReader(bytes.NewReader(payload)), work)
	case bytes.HasPrefix(payload, []byte(zipMagic)):
		return f.unzip(payload, suffix, work)
	default:
		return payload, nil
	}
}

// unzip unpacks the only file of a zip that has the suffix.
func (f *formats) unzip(payload []byte, suffix string, work *meter.Meter) ([]byte, error) {
	if err := work.Use(zipDecoderBytes + zipFactor*int64(len(payload))); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(payload), int64(len(payload)))
	if err != nil {
		return nil, refuseUnreadable("unpack the payload", err)
	}
	var found *zip.File
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, suffix) {
			continue
		}
		if found != nil {
			return nil, newRefusal(malformed, "the zip has more than one file that ends in %s: %.64q and %.64q", suffix, found.Name, file.Name)
		}
		found = file
	}
	if found == nil {
		return nil, newRefusal(malformed, "the zip has no file that ends in %s", suffix)
	}
	from, err := found.Open()
	if err != nil {
		return nil, refuseUnreadable("unpack the payload", err)
	}
	defer from.Close()
	return f.readAll(from, work)
}

// readAll reads a whole file.
func (f *formats) readAll(from io.Reader, work *meter.Meter) ([]byte, error) {
	limit := f.textOptions.Limits.InflatedBytes
	content, err := inflate.ReadAll(from, limit, work)
	switch {
	case errors.Is(err, inflate.ErrTooLarge):
		return nil, newRefusal(tooLarge, "the unpacked payload is larger than limits.inflated_bytes, %d: %w", limit, err)
	case err != nil:
		return nil, refuseUnreadable("unpack the payload", err)
	}
	return content, nil
}
