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

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// The first bytes of containers of recordings. Datadog's agent writes lz4 and zip.
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

// jfrContainer unpacks recordings.
type jfrContainer struct {
	// limit is the maximum size of a recording in bytes.
	limit int
}

// open returns the recording in a payload, which can still be compressed with gzip or zstd. A payload that is no container is returned
// unchanged. working is the memory that open has used, in bytes: it stays reserved. Before open allocates, it calls reserve with the
// total number of bytes.
func (c jfrContainer) open(payload []byte, reserve func(bytes int64) error) (recording []byte, working int64, err error) {
	defer func() {
		// Some of the decoders can panic on untrusted input.
		if cause := recover(); cause != nil {
			recording, err = nil, refuse(classMalformed, "cannot unpack the recording: %v", cause)
		}
	}()
	switch {
	case bytes.HasPrefix(payload, []byte(lz4Magic)):
		if err := reserve(lz4DecoderBytes); err != nil {
			return nil, 0, err
		}
		return c.read(lz4.NewReader(bytes.NewReader(payload)), lz4DecoderBytes, reserve)
	case bytes.HasPrefix(payload, []byte(zipMagic)):
		return c.openZip(payload, reserve)
	default:
		return payload, 0, nil
	}
}

// openZip unpacks the only recording of a zip.
func (c jfrContainer) openZip(payload []byte, reserve func(bytes int64) error) (recording []byte, working int64, err error) {
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
		if !strings.HasSuffix(file.Name, suffixJFR) {
			continue
		}
		if found != nil {
			return nil, 0, refuse(classMalformed, "the zip has more than one recording: %.64q and %.64q", found.Name, file.Name)
		}
		found = file
	}
	if found == nil {
		return nil, 0, refuse(classMalformed, "the zip has no file that ends in %s", suffixJFR)
	}
	from, err := found.Open()
	if err != nil {
		return nil, 0, unpackError(err)
	}
	defer from.Close()
	return c.read(from, working, reserve)
}

// read reads a whole recording into a buffer. working is the memory in use before that, in bytes. The result has it with the buffer.
func (c jfrContainer) read(from io.Reader, working int64, reserve func(bytes int64) error) ([]byte, int64, error) {
	// One more byte shows that the recording exceeds the limit.
	from = io.LimitReader(from, int64(c.limit)+1)
	var content []byte
	for {
		if len(content) == cap(content) {
			capacity := min(max(2*cap(content), firstUnpackedBytes), c.limit+1)
			if len(content) > c.limit {
				return nil, working, refuse(classTooLarge, "%w: the recording is larger than limits.inflated_bytes, %d", inflate.ErrTooLarge, c.limit)
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
		case len(content) > c.limit:
			return nil, working, refuse(classTooLarge, "%w: the recording is larger than limits.inflated_bytes, %d", inflate.ErrTooLarge, c.limit)
		case errors.Is(err, io.EOF):
			return content, working, nil
		case err != nil:
			return nil, working, unpackError(err)
		}
	}
}

// unpackError returns a refusal for an error of lz4 or zip. An error with a class keeps it, others are malformed.
func unpackError(err error) error {
	return refuse(malformedUnless(err), "cannot unpack the recording: %w", err)
}
