// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// encodings maps the values of Content-Encoding to the names in compression_algorithms.
var encodings = map[string]string{
	"identity": "", "gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd",
	"zlib": "zlib", "deflate": "deflate", "lz4": "lz4", "snappy": "snappy", "x-snappy-framed": "x-snappy-framed",
}

// decoderBytes is the memory of a decoder other than lz4, without its result.
const decoderBytes = 256 << 10

const snappyFrames = "\xff\x06\x00\x00sNaPpY"

// checkAllowed replaces Content-Encoding by one lower-case name, and refuses one that is not allowed. Names are case-insensitive, and a
// list can contain identity. A list of several other encodings is refused. Without compression_algorithms, all are allowed.
func (s *server) checkAllowed(header http.Header) error {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(strings.Join(header.Values("Content-Encoding"), ",")), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	encoding := cmp.Or(strings.Join(names, ", "), "identity")
	header.Set("Content-Encoding", encoding)
	algorithms := s.cfg.HTTP.CompressionAlgorithms
	algorithm, known := encodings[encoding]
	if !known || len(algorithms) > 0 && !slices.Contains(algorithms, algorithm) {
		return newRefusal(unknownEncoding, "unsupported Content-Encoding: %.64s", encoding)
	}
	return nil
}

// decode decodes a body, unless its Content-Encoding is gzip or zstd. The APIs decode these two, under one limit with the
// compression of the payload. The result has the same limit as bodies, and its memory is kept.
func (s *server) decode(r *http.Request, m *requestMemory, body []byte) (decoded []byte, err error) {
	defer refusePanic("read the body", &err)
	var from io.Reader
	working := int64(decoderBytes)
	switch r.Header.Get("Content-Encoding") {
	case "zlib", "deflate":
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			return nil, refuseUnreadable("read the body", err)
		}
	case "lz4":
		from, working = lz4.NewReader(bytes.NewReader(body)), lz4DecoderBytes
	case "x-snappy-framed":
		from = snappy.NewReader(bytes.NewReader(body))
	case "snappy":
		if !bytes.HasPrefix(body, []byte(snappyFrames)) {
			return s.decodeSnappy(r, m, body)
		}
		from = snappy.NewReader(bytes.NewReader(body))
	default:
		return body, nil
	}
	r.Header.Del("Content-Encoding")
	limit := s.cfg.HTTP.MaxRequestBodySize
	if err := m.Use(working); err != nil {
		return nil, err
	}
	decoded, err = inflate.ReadAll(from, int(limit), m.Meter)
	switch {
	case errors.Is(err, inflate.ErrTooLarge):
		return nil, bodyTooLarge(limit)
	case err == nil && len(decoded) == 0:
		err = io.EOF
	}
	if err != nil {
		return nil, refuseUnreadable("read the body", err)
	}
	return decoded, nil
}

// decodeSnappy decodes the block format of snappy.
func (s *server) decodeSnappy(r *http.Request, m *requestMemory, body []byte) ([]byte, error) {
	r.Header.Del("Content-Encoding")
	length, err := snappy.DecodedLen(body)
	if err == nil && length == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, refuseUnreadable("read the body", err)
	}
	if limit := s.cfg.HTTP.MaxRequestBodySize; int64(length) > limit {
		return nil, bodyTooLarge(limit)
	}
	if err := m.Use(int64(length)); err != nil {
		return nil, err
	}
	decoded, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, refuseUnreadable("read the body", err)
	}
	return decoded, nil
}

// checkEncoding refuses a body that does not have the Content-Encoding of the header.
func checkEncoding(r *http.Request, body []byte) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && inflate.Plain(body) {
		return newRefusal(malformed, "Content-Encoding is %.16q, but the body does not have it", encoding)
	}
	return nil
}

// bodyError returns the error, with its class, for an error of reading a body.
func bodyError(err error) error {
	if tooMany, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bodyTooLarge(tooMany.Limit)
	}
	if classOf(err) != internalError {
		return err
	}
	broken, network := errors.AsType[net.Error](err)
	switch {
	case network && broken.Timeout():
		return newRefusal(tooSlow, "the body did not arrive within read_timeout: %w", err)
	case errors.Is(err, io.EOF):
		return newRefusal(malformed, "the body is empty")
	case network, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.Canceled):
		return newRefusal(aborted, "the body ended early: %w", err)
	default:
		// All other errors come from the chunked transfer coding.
		return newRefusal(malformed, "cannot read the body: %w", err)
	}
}

func bodyTooLarge(limit int64) error {
	return newRefusal(tooLarge, "the body is larger than max_request_body_size, %d bytes", limit)
}
