// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxTextBytes limits the text that [Text] returns for bytes, a list or a map.
const maxTextBytes = 64 << 10

// marker replaces content that was cut: the end of a text that is too long, and a list or map that is too deep.
const marker = "…"

// Text returns a value as text:
//   - a string unchanged, whatever its length;
//   - numbers in decimal;
//   - bytes in base64;
//   - lists and maps as JSON. The pairs of a map are sorted by key. If a key appears several times, the last pair counts.
//     NaN and infinities become strings, since JSON does not have these numbers;
//   - an empty value as the empty string.
//
// The text of bytes, lists and maps has at most 64 KiB.
func Text(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return v.Str()
	case pcommon.ValueTypeEmpty:
		return ""
	default:
		return string(AppendText(nil, v, maxTextBytes))
	}
}

// AppendText appends the text of a value, see [Text], of at most limit bytes. The limit does not apply to a string.
func AppendText(dst []byte, v pcommon.Value, limit int) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return append(dst, v.Str()...)
	case pcommon.ValueTypeEmpty:
		return dst
	case pcommon.ValueTypeDouble:
		return appendDouble(dst, v.Double())
	default:
		w := writer{out: dst, end: len(dst) + min(limit, math.MaxInt-len(dst))}
		w.value(v, MaxDepth)
		return w.finish(len(dst))
	}
}

// writer writes the text of a value and stops soon after end. out exceeds end by a few bytes at most, or by the escaped form of
// one string that was cut to the remaining length.
type writer struct {
	out []byte
	end int
}

func (w *writer) remaining() int { return max(w.end-len(w.out), 0) }

func (w *writer) full() bool { return len(w.out) > w.end }

// finish cuts the text, which begins at start, to its limit.
func (w *writer) finish(start int) []byte {
	if !w.full() {
		return w.out
	}
	keep := w.end - len(marker)
	if keep < start {
		return w.out[:start]
	}
	for keep > start && !utf8.RuneStart(w.out[keep]) {
		keep--
	}
	return append(w.out[:keep], marker...)
}

// value writes up to this many levels of a value.
func (w *writer) value(v pcommon.Value, levels int) {
	switch v.Type() {
	case pcommon.ValueTypeInt:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case pcommon.ValueTypeBool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case pcommon.ValueTypeBytes:
		w.base64(v.Bytes())
	case pcommon.ValueTypeSlice:
		w.list(v.Slice(), levels)
	case pcommon.ValueTypeMap:
		w.pairs(v.Map(), levels)
	default:
	}
}

// item writes a value inside a list or map, as JSON.
func (w *writer) item(v pcommon.Value, levels int) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		w.out = append(w.out, "null"...)
	case pcommon.ValueTypeStr:
		w.quoted(v.Str())
	case pcommon.ValueTypeDouble:
		if f := v.Double(); math.IsNaN(f) || math.IsInf(f, 0) {
			w.quoted(string(appendDouble(nil, f)))
			return
		}
		w.out = appendDouble(w.out, v.Double())
	case pcommon.ValueTypeBytes:
		if v.Bytes().Len() == 0 {
			w.out = append(w.out, "null"...) // as in pdata's AsString
			return
		}
		w.out = append(w.out, '"')
		w.base64(v.Bytes())
		w.out = append(w.out, '"')
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		if levels == 0 {
			w.quoted(marker)
			return
		}
		w.value(v, levels)
	default:
		w.value(v, levels)
	}
}

func (w *writer) list(list pcommon.Slice, levels int) {
	w.out = append(w.out, '[')
	for i, item := range list.All() {
		if w.full() {
			return
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.item(item, levels-1)
	}
	w.out = append(w.out, ']')
}

func (w *writer) pairs(m pcommon.Map, levels int) {
	w.out = append(w.out, '{')
	for i, p := range sorted(m, w.remaining()/shortestPair+1) {
		if w.full() {
			return
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.quoted(p.key)
		w.out = append(w.out, ':')
		w.item(p.value, levels-1)
	}
	w.out = append(w.out, '}')
}

// base64 writes bytes. It reads only as many as fit.
func (w *writer) base64(bytes pcommon.ByteSlice) {
	var group [3]byte
	for i := 0; i < bytes.Len() && !w.full(); i += len(group) {
		n := 0
		for n < len(group) && i+n < bytes.Len() {
			group[n] = bytes.At(i + n)
			n++
		}
		w.out = base64.StdEncoding.AppendEncode(w.out, group[:n])
	}
}

// pair is a key and a value of a map.
type pair struct {
	key   string
	value pcommon.Value
}

// shortestPair is the length of the shortest pair in JSON.
const shortestPair = len(`"":0,`)

// sorted returns the first n pairs of a map in the order of their keys. Of pairs with equal keys it returns the last one. It
// never holds more than about 2n pairs.
func sorted(m pcommon.Map, n int) []pair {
	pairs := make([]pair, 0, min(m.Len(), n))
	for key, value := range m.All() {
		if len(pairs) >= n && len(pairs)/2 >= n {
			pairs = firstPairs(pairs, n)
		}
		pairs = append(pairs, pair{key, value})
	}
	return firstPairs(pairs, n)
}

func firstPairs(pairs []pair, n int) []pair {
	// After this, the last of several equal keys is the first, which CompactFunc keeps.
	slices.Reverse(pairs)
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	pairs = slices.CompactFunc(pairs, func(a, b pair) bool { return a.key == b.key })
	return pairs[:min(len(pairs), n)]
}

// appendJSON appends a string or a finite number as JSON, without the escapes for HTML.
func appendJSON[T string | float64](dst []byte, v T) []byte {
	out := bytes.NewBuffer(dst)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // It fails only for numbers that are not finite.
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// appendDouble appends a number, or the name of one that JSON does not have.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	default:
		return appendJSON(dst, f)
	}
}

// quoted writes a string. It reads only as much of it as fits.
func (w *writer) quoted(s string) {
	if remaining := w.remaining(); len(s)-utf8.UTFMax > remaining {
		s = s[:remaining+utf8.UTFMax]
	}
	w.out = appendJSON(w.out, s)
}

const (
	// ServiceName is the key of the attribute with the name of a service.
	ServiceName = "service.name"
	// UnknownService is the service of a resource without a name.
	UnknownService = "unknown_service"
)

// maxShortService limits what [ShortService] returns, in bytes. It is more than a log line has.
const maxShortService = 1 << 10

// ShortService returns the beginning of [Service], for what is kept longer than the resource.
func ShortService(resource pcommon.Map) string {
	service := Service(resource)
	if len(service) <= maxShortService {
		return service
	}
	return strings.Clone(Cut(service, maxShortService)) // All of it would stay in memory.
}

// Cut returns the beginning of a text, of at most limit bytes. It does not cut inside a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > max(limit-utf8.UTFMax, 0) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Service returns the service name of a resource, or UnknownService if it has none.
func Service(resource pcommon.Map) string {
	if value, found := resource.Get(ServiceName); found {
		if text := Text(value); text != "" {
			return text
		}
	}
	return UnknownService
}
