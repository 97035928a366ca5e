// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"encoding/binary"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestMain limits the stack, so that unlimited recursion ends the tests.
func TestMain(m *testing.M) {
	debug.SetMaxStack(1 << 20)
	goleak.VerifyTestMain(m)
}

// built is a value with known properties.
type built struct {
	value pcommon.Value
	// depth is the number of nested lists and maps.
	depth int
	// finite reports whether JSON has a number for each double in lists and maps.
	finite bool
}

// build makes a value from any bytes. Each byte is an instruction. Some instructions read operands from the bytes after them.
func build(program []byte) built {
	b := builder{program: program, built: built{value: pcommon.NewValueEmpty(), finite: true}}
	b.put(b.value, 1)
	for len(b.program) > 0 && len(b.open) > 0 {
		at := len(b.open) - 1
		container := b.open[at]
		switch op := b.program[0] % 9; {
		case op == 8:
			b.program = b.program[1:]
			b.open = b.open[:at]
		case container.Type() == pcommon.ValueTypeSlice:
			b.put(container.Slice().AppendEmpty(), at+2)
		default:
			// PutEmpty clears the value of an existing key. Only a message from the wire can have a key twice.
			b.put(container.Map().PutEmpty(string(b.operand(int(b.program[0]>>4)))), at+2)
		}
	}
	return b.built
}

type builder struct {
	program []byte
	open    []pcommon.Value
	built
}

// operand reads the next n bytes, or the rest.
func (b *builder) operand(n int) []byte {
	n = min(n, len(b.program))
	operand := b.program[:n]
	b.program = b.program[n:]
	return operand
}

func (b *builder) number() uint64 {
	var eight [8]byte
	copy(eight[:], b.operand(8))
	return binary.LittleEndian.Uint64(eight[:])
}

// put executes the next instruction: it sets v, which is at this depth if it becomes a list or map.
func (b *builder) put(v pcommon.Value, depth int) {
	op := b.operand(1)
	if len(op) == 0 {
		return
	}
	switch op[0] % 9 {
	case 0:
		v.SetStr(string(b.operand(int(op[0]))))
	case 1:
		v.SetInt(int64(b.number()))
	case 2:
		f := math.Float64frombits(b.number())
		v.SetDouble(f)
		b.finite = b.finite && (depth == 1 || !math.IsNaN(f) && !math.IsInf(f, 0))
	case 3:
		v.SetBool(op[0] > 127)
	case 4:
		v.SetEmptyBytes().FromRaw(b.operand(int(op[0])))
	case 5, 6:
		levels := 1
		if op[0] > 200 { // many levels at once; the operand is their number
			levels += int(b.number() & 0x1FFFF % 100_000)
		}
		for i := range levels {
			if op[0]%9 == 5 {
				v.SetEmptySlice()
			} else {
				v.SetEmptyMap()
			}
			b.open = append(b.open, v)
			b.depth = max(b.depth, len(b.open))
			if i < levels-1 {
				v = inner(v)
			}
		}
	}
}

func inner(v pcommon.Value) pcommon.Value {
	if v.Type() == pcommon.ValueTypeSlice {
		return v.Slice().AppendEmpty()
	}
	return v.Map().PutEmpty("k")
}

func TestTooDeep(t *testing.T) {
	for _, raw := range []any{nil, "text", 7, []byte("bytes"), []any{}, map[string]any{"a": []any{1, map[string]any{}}}} {
		assert.False(t, TooDeep(value(t, raw)))
	}
	assert.False(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth)))
	assert.True(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), MaxDepth+1)))
	assert.True(t, TooDeep(profiletest.Nest(pcommon.NewValueEmpty(), 1_000_000)))

	list := pcommon.NewValueSlice()
	list.Slice().AppendEmpty().SetInt(1)
	profiletest.Nest(list.Slice().AppendEmpty(), MaxDepth)
	assert.True(t, TooDeep(list), "one item suffices")
}

func TestCheck(t *testing.T) {
	attributes := pcommon.NewMap()
	attributes.PutStr("a", "text")
	profiletest.Nest(attributes.PutEmpty("b"), MaxDepth)
	require.NoError(t, Check(attributes))
	profiletest.Nest(attributes.PutEmpty("c"), MaxDepth+1)
	err := Check(attributes)
	var found *TooDeepError
	require.ErrorAs(t, err, &found)
	assert.Equal(t, "c", found.Key)
	assert.EqualError(t, err, `attribute "c" is too deep: at least 33 lists or maps within one another, the limit is 32`)
}

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
