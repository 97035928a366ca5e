// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

// readBody copies the body of the record and finds its format. Afterwards, a pprof is decompressed in t.inflated.
func (t *decoding) readBody() (isPprof bool, refused *refusal) {
	if refused := t.copyBody(); refused != nil {
		return false, refused
	}
	isPprof, refused = t.isPprof()
	if refused != nil {
		return false, refused
	}
	if isPprof {
		refused = t.unpackPprof()
	} else if limit := t.opts.Limits.BodyBytes; len(t.body) > limit {
		refused = tooLarge("bytes of the body", len(t.body), limit)
	}
	t.result.BodyBytes += len(t.payload)
	return isPprof, refused
}

// emptyBody refuses records that are cheap to send.
var emptyBody = refuse(ReasonBody, "the body is empty")

// copyBody refuses bodies that must exceed the limit, with or without base64.
func (t *decoding) copyBody() *refusal {
	value, limit := t.record.log.Body(), 2*t.opts.Limits.BodyBytes
	size := 0
	switch value.Type() {
	case pcommon.ValueTypeStr:
		size = len(value.Str())
	case pcommon.ValueTypeBytes:
		size = value.Bytes().Len()
	default:
		return refuse(ReasonBody, "the body is of type %s, neither text nor bytes", value.Type())
	}
	switch {
	case size == 0:
		return emptyBody
	case size > limit:
		return tooLarge("bytes of the body before base64", size, limit)
	}
	if refused := t.needBody(size); refused != nil {
		return refused
	}
	if value.Type() == pcommon.ValueTypeStr {
		t.body = append(t.body[:0], value.Str()...)
	} else {
		t.body = append(t.body[:0], value.Bytes().AsRaw()...)
	}
	t.payload = t.body
	return nil
}

// isPprof reports whether the body is a pprof, and not a text: by the format that the record names, or else by the first bytes of the body.
func (t *decoding) isPprof() (bool, *refusal) {
	switch {
	case t.record.format == dataFormatText:
		return false, nil
	case t.record.format == dataFormatPprof, !inflate.Plain(t.body), beginsLikeGzip(t.body), t.mayBePlain():
		return true, nil
	case t.record.format == "":
		return false, nil
	default:
		return false, refuse(ReasonFormat, "%s must be %q or %q, is %.64q", attributeDataFormat,
			dataFormatPprof, dataFormatText, t.record.format)
	}
}

// beginsLikeGzip reports whether the body is base64 that begins with the magic number of gzip, and contains only base64:
// a text has parentheses or colons.
func beginsLikeGzip(body []byte) bool {
	const alphabets = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_" + ignored
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("H4sI")) && len(bytes.Trim(body, alphabets)) == 0
}

// mayBePlain reports whether the body can be an uncompressed pprof: it is of type bytes, and contains a byte that no text
// has, but a protobuf tag can have.
func (t *decoding) mayBePlain() bool {
	return t.record.log.Body().Type() == pcommon.ValueTypeBytes && slices.ContainsFunc(t.body, func(c byte) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r'
	})
}

// unpackPprof decodes base64 and decompresses the pprof.
func (t *decoding) unpackPprof() *refusal {
	limit := t.opts.Limits.BodyBytes
	if inflate.Plain(t.body) && !t.mayBePlain() {
		if size := decodedLen(t.body, limit); size > limit {
			return tooLarge("bytes of the body behind base64", size, limit)
		}
		if refused := t.needBody(2 * base64.StdEncoding.DecodedLen(len(t.body))); refused != nil {
			return refused
		}
		var err error
		if t.decoded, err = appendBase64(t.decoded[:0], t.body); err != nil {
			return &refusal{ReasonBase64, fmt.Errorf("cannot decode the base64 of the body: %w", err)}
		}
		t.payload = t.decoded
	}
	if len(t.payload) > limit {
		return tooLarge("bytes of the body", len(t.payload), limit)
	}
	if len(t.payload) == 0 {
		return emptyBody
	}
	return t.inflate()
}

// refusedPart: a refused pprof uses at least one part in refusedPart of the limit, since refusing it is not free either.
const refusedPart = 16

// inflate decompresses the pprof, within the limit that is left for the request. A pprof in several layers uses the size of the
// largest one.
func (t *decoding) inflate() *refusal {
	limit := t.opts.Limits.InflatedBytes
	if t.inflatedLeft <= 0 {
		return refuse(ReasonTooLarge, "%w: all pprofs of the request are larger than %d bytes together",
			inflate.ErrTooLarge, requestFactor*int64(limit))
	}
	limit = int(min(int64(limit), t.inflatedLeft))
	m := &t.memory
	var size int
	var err error
	t.inflated, size, err = inflate.Into(t.inflated, t.payload, limit, &m.Meter)
	m.body += int64(cap(t.inflated))
	switch {
	case m.Err() != nil:
		return t.memoryRefusal()
	case err != nil:
		t.inflatedLeft -= int64(max(limit/refusedPart, size))
		return refusalOf(ReasonCompression, err)
	}
	t.inflatedLeft -= int64(size)
	t.result.InflatedBytes += len(t.inflated)
	return nil
}

// decodedLen returns the decoded length of base64. It is exact only if it can exceed the limit.
func decodedLen(src []byte, limit int) int {
	size := base64.StdEncoding.DecodedLen(len(src))
	if size <= limit {
		return size
	}
	ignorable := 0
	for _, c := range []byte(ignored) {
		ignorable += bytes.Count(src, []byte{c})
	}
	return base64.RawStdEncoding.DecodedLen(len(src) - ignorable)
}

// ignored are the characters that are ignored in base64: white space and padding.
const ignored = " \t\r\n="

// appendBase64 decodes the standard and the URL alphabet, with or without padding, and with white space anywhere.
func appendBase64(dst, src []byte) ([]byte, error) {
	if dst, err := base64.StdEncoding.AppendDecode(dst, src); err == nil {
		return dst, nil
	}
	return base64.RawStdEncoding.AppendDecode(dst, bytes.Map(func(c rune) rune {
		switch {
		case c == '-':
			return '+'
		case c == '_':
			return '/'
		case strings.ContainsRune(ignored, c):
			return -1
		case c >= utf8.RuneSelf:
			return '!' // It is no character of base64 either. U+FFFD would have more bytes than src.
		}
		return c
	}, src))
}
