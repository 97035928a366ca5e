// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import (
	"encoding/binary"
	"math"
	"runtime/debug"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/goleak"
)

// TestMain bounds the stack: one that grows with the depth of a value ends the tests.
func TestMain(m *testing.M) {
	debug.SetMaxStack(1 << 20)
	goleak.VerifyTestMain(m)
}

// built is a value and what is known of it from how it was built.
type built struct {
	value pcommon.Value
	// depth is how many lists and maps stand within one another.
	depth int
	// finite says that each double within a list or map is a number of JSON.
	finite bool
}

// build makes a value of any bytes: each is an instruction, and some read operands from the bytes behind it.
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
			// PutEmpty clears the value of a key that stands already; keys that stand twice come from the wire only.
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

// operand takes the next n bytes, or what is left.
func (b *builder) operand(n int) []byte {
	n = min(n, len(b.program))
	taken := b.program[:n]
	b.program = b.program[n:]
	return taken
}

func (b *builder) number() uint64 {
	var eight [8]byte
	copy(eight[:], b.operand(8))
	return binary.LittleEndian.Uint64(eight[:])
}

// put sets a value, as the next instruction says, which is at this depth if it is a list or map.
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
		if op[0] > 200 { // as many levels at once as two bytes say
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
