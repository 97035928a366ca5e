// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// encodings are the values of Content-Encoding that are known, by the name that compression_algorithms has for them.
var encodings = map[string][]string{
	"": {"identity"}, "gzip": {"gzip", "x-gzip"}, "zstd": {"zstd"},
	"zlib": {"zlib"}, "deflate": {"deflate"}, "lz4": {"lz4"}, "snappy": {"snappy"}, "x-snappy-framed": {"x-snappy-framed"},
}

// decoderBytes is what a decoder takes beside its result: lz4 has blocks of 8 MiB at most, and two of them at a time.
const (
	decoderBytes    = 256 << 10
	lz4DecoderBytes = 16 << 20
)

const snappyFrames = "\xff\x06\x00\x00sNaPpY"

// decoders takes the encodings away from confighttp where they are allowed: bodies pass as they came, so that their
// memory is reserved before it is taken.
func (s *server) decoders() []confighttp.ToServerOption {
	asItCame := func(io.ReadCloser) (io.ReadCloser, error) { return nil, nil }
	var options []confighttp.ToServerOption
	for encoding, aliases := range encodings {
		if allowed := s.cfg.HTTP.CompressionAlgorithms; allowed != nil && !slices.Contains(allowed, encoding) {
			continue
		}
		for _, alias := range aliases {
			options = append(options, confighttp.WithDecoder(alias, asItCame))
		}
	}
	return options
}

// decode takes the Content-Encoding off a body, unless it is gzip or zstd: with those the APIs deal, under one limit
// with the payload's own compression. What comes out is bound as bodies are, and kept.
func (s *server) decode(ctx context.Context, r *http.Request, m *memory, body []byte) (decoded []byte, err error) {
	defer func() {
		// The decoders were not all written for input of strangers.
		if cause := recover(); cause != nil {
			err = refuse(classMalformed, "cannot read the body: %v", cause)
		}
	}()
	var from io.Reader
	taken := int64(decoderBytes)
	switch r.Header.Get("Content-Encoding") {
	case "zlib", "deflate":
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			return nil, undecodable(err)
		}
	case "lz4":
		from, taken = lz4.NewReader(bytes.NewReader(body)), lz4DecoderBytes
	case "x-snappy-framed":
		from = snappy.NewReader(bytes.NewReader(body))
	case "snappy":
		if !bytes.HasPrefix(body, []byte(snappyFrames)) {
			return s.decodeSnappy(ctx, r, m, body)
		}
		from = snappy.NewReader(bytes.NewReader(body))
	default:
		return body, nil
	}
	r.Header.Del("Content-Encoding")
	limit := s.cfg.HTTP.MaxRequestBodySize
	if err := m.keep(ctx, taken); err != nil {
		return nil, err
	}
	decoded, err = m.read(ctx, io.LimitReader(from, limit+1), 0)
	m.kept -= taken
	switch {
	case err != nil:
		return nil, undecodable(err)
	case int64(len(decoded)) > limit:
		return nil, bodyTooLarge(limit)
	default:
		return decoded, nil
	}
}

// decodeSnappy decodes the form of snappy that is one block.
func (s *server) decodeSnappy(ctx context.Context, r *http.Request, m *memory, body []byte) ([]byte, error) {
	r.Header.Del("Content-Encoding")
	length, err := snappy.DecodedLen(body)
	if err == nil && length == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, undecodable(err)
	}
	if limit := s.cfg.HTTP.MaxRequestBodySize; int64(length) > limit {
		return nil, bodyTooLarge(limit)
	}
	if err := m.keep(ctx, int64(length)); err != nil {
		return nil, err
	}
	decoded, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, undecodable(err)
	}
	return decoded, nil
}

// undecodable is the error of a decoder, or that of reserving memory for it.
func undecodable(err error) error {
	return refuse(malformedUnless(err), "cannot read the body: %w", err)
}

// checkEncoding refuses a body that does not have the Content-Encoding which it is said to have.
func checkEncoding(r *http.Request, body []byte) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && inflate.Plain(body) {
		return refuse(classMalformed, "Content-Encoding is %.16q, but the body begins otherwise", encoding)
	}
	return nil
}
