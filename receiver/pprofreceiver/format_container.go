// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/pierrec/lz4/v4"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The first bytes of containers. Datadog's libraries put recordings into lz4 and zip, and pprofs into lz4.
const (
	lz4Magic = "\x04\x22\x4d\x18"
	zipMagic = "PK\x03\x04"
)

const (
	// zipFactor is the memory for the directory of a zip, as a multiple of the size of the zip.
	zipFactor = 16
	// zipDecoderBytes is the memory of the zip decompressor.
	zipDecoderBytes = 64 << 10
	// firstUnpackedBytes is the initial size of the buffer.
	firstUnpackedBytes = 64 << 10
)

// containerFormat is a format whose payloads can be in a container.
type containerFormat struct {
	content payloadFormat
	// suffix is the end of the name of the only file in a zip that is read.
	suffix string
	// limit is the maximum size of an unpacked payload in bytes.
	limit int
}

// Decode unpacks a payload and translates the content.
func (f containerFormat) Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	reserve := source.Reserve
	unpacked, working, err := f.open(payload, reserve)
	if err != nil {
		return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: int(min(working, int64(f.limit)))}, err
	}
	source.Reserve = func(bytes int64) error { return reserve(working + bytes) }
	profiles, stats, err := f.content.Decode(unpacked, source)
	if working > 0 {
		// The content can be compressed, and smaller after decompression.
		stats.InflatedBytes = max(stats.InflatedBytes, len(unpacked))
	}
	return profiles, stats, err
}

// open returns the content of a payload, which can still be compressed with gzip or zstd. A payload that is no container is returned
// unchanged. working is the memory that open has used, in bytes: it stays reserved. Before open allocates, it calls reserve with the
// total number of bytes.
func (f containerFormat) open(payload []byte, reserve func(bytes int64) error) (content []byte, working int64, err error) {
	defer func() {
		// Some of the decoders can panic on untrusted input.
		if cause := recover(); cause != nil {
			content, err = nil, refuse(classMalformed, "cannot unpack the payload: %v", cause)
			working = int64(f.limit) // At most that was unpacked.
		}
	}()
	switch {
	case bytes.HasPrefix(payload, []byte(lz4Magic)):
		if err := reserve(lz4DecoderBytes); err != nil {
			return nil, 0, err
		}
		return f.read(lz4.NewReader(bytes.NewReader(payload)), lz4DecoderBytes, reserve)
	case bytes.HasPrefix(payload, []byte(zipMagic)):
		return f.openZip(payload, reserve)
	default:
		return payload, 0, nil
	}
}

// openZip unpacks the only file of a zip that has the suffix.
func (f containerFormat) openZip(payload []byte, reserve func(bytes int64) error) (content []byte, working int64, err error) {
	working = zipDecoderBytes + zipFactor*int64(len(payload))
	if err := reserve(working); err != nil {
		return nil, 0, err
	}
	archive, err := zip.NewReader(bytes.NewReader(payload), int64(len(payload)))
	if err != nil {
		return nil, 0, unpackError(err)
	}
	var found *zip.File
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, f.suffix) {
			continue
		}
		if found != nil {
			return nil, 0, refuse(classMalformed, "the zip has more than one file that ends in %s: %.64q and %.64q", f.suffix, found.Name, file.Name)
		}
		found = file
	}
	if found == nil {
		return nil, 0, refuse(classMalformed, "the zip has no file that ends in %s", f.suffix)
	}
	from, err := found.Open()
	if err != nil {
		return nil, 0, unpackError(err)
	}
	defer from.Close()
	return f.read(from, working, reserve)
}

// read reads a whole file into a buffer. working is the memory in use before that, in bytes. The result has it with the buffer.
func (f containerFormat) read(from io.Reader, working int64, reserve func(bytes int64) error) ([]byte, int64, error) {
	// One more byte shows that the file exceeds the limit.
	from = io.LimitReader(from, int64(f.limit)+1)
	var content []byte
	for {
		if len(content) == cap(content) {
			capacity := min(max(2*cap(content), firstUnpackedBytes), f.limit+1)
			if len(content) > f.limit {
				return nil, working, refuse(classTooLarge, "%w: the unpacked payload is larger than limits.inflated_bytes, %d", inflate.ErrTooLarge, f.limit)
			}
			// The old buffer is garbage, but not collected yet.
			working += int64(capacity)
			if err := reserve(working); err != nil {
				return nil, working, err
			}
			content = append(make([]byte, 0, capacity), content...)
		}
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case len(content) > f.limit:
			return nil, working, refuse(classTooLarge, "%w: the unpacked payload is larger than limits.inflated_bytes, %d", inflate.ErrTooLarge, f.limit)
		case errors.Is(err, io.EOF):
			return content, working, nil
		case err != nil:
			return nil, working, unpackError(err)
		}
	}
}

// unpackError returns a refusal for an error of lz4 or zip. An error with a class keeps it, others are malformed.
func unpackError(err error) error {
	return refuse(malformedUnless(err), "cannot unpack the payload: %w", err)
}
