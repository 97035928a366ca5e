// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// encodings are the known values of Content-Encoding, by their name in compression_algorithms.
var encodings = map[string][]string{
	"": {"identity"}, "gzip": {"gzip", "x-gzip"}, "zstd": {"zstd"},
	"zlib": {"zlib"}, "deflate": {"deflate"}, "lz4": {"lz4"}, "snappy": {"snappy"}, "x-snappy-framed": {"x-snappy-framed"},
}

// decoderBytes is the memory of a decoder without its result. lz4 has two blocks of up to 8 MiB at a time.
const (
	decoderBytes    = 256 << 10
	lz4DecoderBytes = 16 << 20
)

const snappyFrames = "\xff\x06\x00\x00sNaPpY"

// decoders makes confighttp pass bodies of the allowed encodings on without decoding them. decode does it, which reserves the
// memory before.
func (s *server) decoders() []confighttp.ToServerOption {
	notDecoded := func(io.ReadCloser) (io.ReadCloser, error) { return nil, nil }
	var options []confighttp.ToServerOption
	for encoding, aliases := range encodings {
		if allowed := s.cfg.HTTP.CompressionAlgorithms; allowed != nil && !slices.Contains(allowed, encoding) {
			continue
		}
		for _, alias := range aliases {
			options = append(options, confighttp.WithDecoder(alias, notDecoded))
		}
	}
	return options
}

// foldEncodings makes Content-Encoding one name in lower case, before anything compares it: names differ in case, and may come
// as a list with identity in it. A list of several encodings stays one, and is refused.
func foldEncodings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if values := r.Header.Values("Content-Encoding"); len(values) > 0 {
			r.Header.Set("Content-Encoding", foldEncoding(values))
		}
		next.ServeHTTP(w, r)
	})
}

func foldEncoding(values []string) string {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(strings.Join(values, ",")), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "identity"
	}
	return strings.Join(names, ", ")
}

// decode undoes the Content-Encoding of a body, unless it is gzip or zstd: these the APIs undo, under one limit with the
// compression of the payload itself. The result has the same limit as bodies, and is kept.
func (s *server) decode(ctx context.Context, r *http.Request, m *memory, body []byte) (decoded []byte, err error) {
	defer func() {
		// Not all of the decoders are made for untrusted input.
		if cause := recover(); cause != nil {
			err = refuse(classMalformed, "cannot read the body: %v", cause)
		}
	}()
	var from io.Reader
	working := int64(decoderBytes)
	switch r.Header.Get("Content-Encoding") {
	case "zlib", "deflate":
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			return nil, undecodable(err)
		}
	case "lz4":
		from, working = lz4.NewReader(bytes.NewReader(body)), lz4DecoderBytes
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
	if err := m.keep(ctx, working); err != nil {
		return nil, err
	}
	decoded, err = m.read(ctx, io.LimitReader(from, limit+1), 0)
	m.kept -= working
	switch {
	case err != nil:
		return nil, undecodable(err)
	case int64(len(decoded)) > limit:
		return nil, bodyTooLarge(limit)
	default:
		return decoded, nil
	}
}

// decodeSnappy decodes the block format of snappy.
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

// undecodable returns the error for one of a decoder, or of reserving memory for it.
func undecodable(err error) error {
	return refuse(malformedUnless(err), "cannot read the body: %w", err)
}

// checkEncoding refuses a body that does not have the Content-Encoding that the header names.
func checkEncoding(r *http.Request, body []byte) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && inflate.Plain(body) {
		return refuse(classMalformed, "Content-Encoding is %.16q, but the body begins otherwise", encoding)
	}
	return nil
}
