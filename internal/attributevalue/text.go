// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// MaxTextBytes is how long [Text] makes the text of bytes, a list or a map.
const MaxTextBytes = 64 << 10

// marker stands for what was cut: at the end of a text that would be too long, and as a string for a list or map that is
// too deep.
const marker = "…"

// Text returns a value as text: a string as it is, whatever its length; numbers in decimal; bytes in base64; lists and
// maps as JSON, with the pairs of a map sorted by key, of equal keys the last one, and with NaN and the infinities, which
// JSON does not know, as strings. An empty value is the empty text. For bytes, lists and maps it has at most [MaxTextBytes].
func Text(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return v.Str()
	case pcommon.ValueTypeEmpty:
		return ""
	default:
		return string(AppendText(nil, v, MaxTextBytes))
	}
}

// AppendText appends the text of a value, see [Text], of at most limit bytes; only a string is appended as it is.
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

// writer writes the text of a value. out grows beyond end by a few bytes at most, or by the escaped form of what remained
// of a string.
type writer struct {
	out []byte
	end int
}

func (w *writer) remaining() int { return max(w.end-len(w.out), 0) }

func (w *writer) full() bool { return len(w.out) > w.end }

// finish cuts what began at start to its limit.
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

// value writes a value of which this many levels are to be written.
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

// item writes a value within a list or map, as JSON has it.
func (w *writer) item(v pcommon.Value, levels int) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		w.out = append(w.out, "null"...)
	case pcommon.ValueTypeStr:
		w.quoted(v.Str())
	case pcommon.ValueTypeDouble:
		if f := v.Double(); math.IsNaN(f) || math.IsInf(f, 0) {
			w.out = append(append(append(w.out, '"'), notFinite(f)...), '"')
			return
		}
		w.out = appendDouble(w.out, v.Double())
	case pcommon.ValueTypeBytes:
		if v.Bytes().Len() == 0 {
			w.out = append(w.out, "null"...) // as pdata has it
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

// base64 writes bytes, of which it looks at no more than what there is room for.
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

// sorted returns the first n pairs of a map by key, of equal keys the last. It holds twice as many at most.
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
	// The later of equal keys comes first, and stays.
	slices.Reverse(pairs)
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	pairs = slices.CompactFunc(pairs, func(a, b pair) bool { return a.key == b.key })
	return pairs[:min(len(pairs), n)]
}
