// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzText builds values of 100,000 levels and more. Their text is within its limit, and equal to that of pdata if nothing was
// cut. TestMain limits the stack, so it must not grow with the depth.
func FuzzText(f *testing.F) {
	deepList, deepMap := []byte{203, 0xff, 0xff, 1, 0, 0, 0, 0, 0}, []byte{204, 0xff, 0xff, 1, 0, 0, 0, 0, 0}
	for _, seed := range [][]byte{
		nil,
		{9, 't'},
		{1, 1, 2, 3, 4, 5, 6, 7, 8},
		{2, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f},
		{4, 1, 2, 3},
		{5},
		{6},
		{5, 5, 5, 8, 6, 33, 'a', 'b', 8, 8, 9, 'x'},
		{6, 16, 'k', 9, 0xff, 32, 'a', 'b', 3, 16, 'k', 5, 8, 8},
		deepList, deepMap, append([]byte{5}, append(deepMap, 8, 9, 'x')...), append(deepList, deepMap...),
	} {
		f.Add(seed, uint16(100))
	}
	f.Fuzz(func(t *testing.T, program []byte, limit uint16) {
		if len(program) > 1<<12 {
			return
		}
		b := build(program)
		if got, want := TooDeep(b.value), b.depth > MaxDepth; got != want {
			t.Fatalf("too deep is %t with %d levels", got, b.depth)
		}
		if b.depth == 0 {
			if got, want := Text(b.value), b.value.AsString(); got != want {
				t.Fatalf("%q is not %q", got, want)
			}
			return
		}
		whole := string(AppendText(nil, b.value, math.MaxInt))
		if b.depth <= MaxDepth && b.finite && whole != b.value.AsString() {
			t.Fatalf("%q is not %q", whole, b.value.AsString())
		}
		text := string(AppendText(nil, b.value, int(limit)))
		if len(text) > int(limit) || !utf8.ValidString(text) {
			t.Fatalf("%d bytes, the limit is %d: %q", len(text), limit, text)
		}
		if cut, _ := strings.CutSuffix(text, marker); len(whole) > int(limit) && !strings.HasPrefix(whole, cut) {
			t.Fatalf("%q is not a prefix of %q", cut, whole)
		}
		if len(whole) <= int(limit) && text != whole {
			t.Fatalf("%q is not %q", text, whole)
		}
	})
}
