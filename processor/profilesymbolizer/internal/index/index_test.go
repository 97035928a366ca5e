// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const base = 0x401000

// newBuilder returns a builder with 0x1000 bytes of code.
func newBuilder(tb testing.TB) *Builder {
	tb.Helper()
	b, err := NewBuilder([]Area{{base, base + 0x1000}}, []Segment{{0x1000, base, 0x1000, 0x1000}}, nil)
	require.NoError(tb, err)
	return b
}

// written returns the bytes of an index.
func written(tb testing.TB, b *Builder) []byte {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "index"))
	require.NoError(tb, err)
	defer f.Close()
	_, err = b.WriteTo(f)
	require.NoError(tb, err)
	data, err := os.ReadFile(f.Name())
	require.NoError(tb, err)
	return data
}

func read(tb testing.TB, b *Builder) *Table {
	tb.Helper()
	t, err := Read(written(tb, b))
	require.NoError(tb, err)
	return t
}

func text(t *Table, address uint64) string {
	var all []string
	for _, f := range t.Lookup(nil, address) {
		n := t.Names(f)
		all = append(all, fmt.Sprintf("%s@%d %s:%d:%d", n.Name, n.StartLine, n.Filename, f.Line, f.Column))
	}
	return strings.Join(all, " < ")
}

// add adds a function at a range of addresses.
func add(b *Builder, layer Layer, name string, low, high uint64, parent uint32, call Place) uint32 {
	node := b.Node(b.Function(name, name, 1), parent, call)
	b.Range(layer, base+low, base+high, node)
	return node
}

func TestLookup(t *testing.T) {
	b := newBuilder(t)
	outer := add(b, LayerDebug, "outer", 0x10, 0x100, 0, Place{})
	middle := add(b, LayerDebug, "middle", 0x20, 0x60, outer, Place{b.Text("outer.c"), 7, 3})
	add(b, LayerDebug, "inner", 0x30, 0x40, middle, Place{b.Text("middle.c"), 8, 0})
	add(b, LayerSymbols, "symbol", 0, 0x200, 0, Place{})
	add(b, LayerDebug, "outside", 0x5000, 0x6000, 0, Place{})
	rows := b.Sequence()
	rows.Row(base+0x30, Place{b.Text("inner.c"), 1, 0})
	rows.Row(base+0x30, Place{b.Text("inner.c"), 2, 5})
	rows.Row(base+0x38, Place{b.Text("inner.c"), 2, 5})
	rows.Row(base+0x40, Place{b.Text("middle.c"), 9, 0})
	rows.End(base + 0x60)
	rows.Row(0, Place{b.Text("removed.c"), 1, 0})
	rows.End(0x100)
	rows.Row(base, Place{b.Text("backwards.c"), 1, 0})
	rows.Row(base-1, Place{b.Text("backwards.c"), 2, 0})
	rows.End(base + 0x10)
	assert.Equal(t, QualityLines, b.quality())
	table := read(t, b)
	for address, want := range map[uint64]string{
		0x0:   "symbol@1 :0:0",
		0x10:  "outer@1 :0:0",
		0x2f:  "middle@1 :0:0 < outer@1 outer.c:7:3",
		0x30:  "inner@1 inner.c:2:5 < middle@1 middle.c:8:0 < outer@1 outer.c:7:3",
		0x3f:  "inner@1 inner.c:2:5 < middle@1 middle.c:8:0 < outer@1 outer.c:7:3",
		0x40:  "middle@1 middle.c:9:0 < outer@1 outer.c:7:3",
		0x60:  "outer@1 :0:0",
		0xff:  "outer@1 :0:0",
		0x100: "symbol@1 :0:0",
		0x200: "",
	} {
		assert.Equal(t, want, text(table, base+address), "%#x", address)
	}
	assert.Empty(t, text(table, base-1))
	assert.Empty(t, text(table, math.MaxUint64))
}

// TestFlatten compares spans with what each address has, span by span.
func TestFlatten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const size = 60
	for range 2000 {
		var layers [2][]span
		var naive [2][size]uint32
		for l := range layers {
			for range random.IntN(6) {
				low := random.Uint32N(size - 1)
				layers[l] = append(layers[l], span{low, low + 1 + random.Uint32N(size-low-1), uint32(1 + random.IntN(9))})
			}
			// Properly nested spans: the one that begins last, or ends first, is the inner one. Crossing ones: the one that begins last.
			for at := range uint32(size) {
				best := span{}
				for _, s := range layers[l] {
					if at >= s.low && at < s.high && (best.node == 0 || s.low > best.low || s.low == best.low && s.high <= best.high) {
						best = s
					}
				}
				naive[l][at] = best.node
			}
		}
		entries := overlay(flatten(layers[0]), flatten(layers[1]))
		for i := 1; i < len(entries); i++ {
			require.Less(t, entries[i-1].address, entries[i].address)
		}
		for at := range uint32(size) {
			want := naive[0][at]
			if want == 0 {
				want = naive[1][at]
			}
			got := uint32(0)
			for _, e := range entries {
				if e.address <= at {
					got = e.node
				}
			}
			require.Equal(t, want, got, "%v: at %d", layers, at)
		}
	}
}

func TestAddress(t *testing.T) {
	for name, test := range map[string]struct {
		segments []Segment
		mapping  Mapping
		address  uint64
		want     uint64
	}{
		"position-independent": {[]Segment{{0x1000, 0x1000, 0x5000, 0x5000}}, Mapping{0x7f0000001000, 0x7f0000006000, 0x1000}, 0x7f0000001234, 0x1234},
		"fixed":                {[]Segment{{0x1000, 0x401000, 0x5000, 0x5000}}, Mapping{0x401000, 0x406000, 0x1000}, 0x401234, 0x401234},
		"lld":                  {[]Segment{{0x1750, 0x2750, 0x5000, 0x5000}}, Mapping{0x7f0000002000, 0x7f0000008000, 0x1000}, 0x7f0000002800, 0x2800},
		"a later part":         {[]Segment{{0x1000, 0x1000, 0x5000, 0x5000}}, Mapping{0x7f0000003000, 0x7f0000006000, 0x3000}, 0x7f0000003010, 0x3010},
		"eBPF profiler":        {[]Segment{{0x1000, 0x401000, 0x5000, 0x5000}}, Mapping{0x401000, 0, 0x1000}, 0x401234, 0x401234},
		"no mapping":           {[]Segment{{0x1000, 0x401000, 0x5000, 0x5000}}, Mapping{}, 0x401234, 0x401234},
		"a whole file, eBPF":   {[]Segment{{0x1750, 0x402750, 0x5000, 0x5000}}, Mapping{0x400000, 0x408000, 0}, 0x402800, 0x402800},
		"a whole file":         {[]Segment{{0x1000, 0x2000, 0x5000, 0x5000}}, Mapping{0x7f0000000000, 0x7f0000008000, 0}, 0x7f0000001800, 0x2800},
		"objcopy":              {[]Segment{{0x0, 0x401750, 0, 0x5000}}, Mapping{0x7f0000001000, 0x7f0000007000, 0x1000}, 0x7f0000001800, 0x401800},
		"a part, objcopy":      {[]Segment{{0x0, 0x401750, 0, 0x5000}}, Mapping{0x7f0000001000, 0x7f0000003000, 0x2000}, 0x7f0000001800, 0x7f0000001800},
		"two segments of objcopy": {
			[]Segment{{0, 0x1000, 0, 0x1000}, {0, 0x5000, 0, 0x3000}},
			Mapping{0x7f0000005000, 0x7f0000008000, 0x5000},
			0x7f0000005010, 0x5010,
		},
	} {
		table := &Table{segments: test.segments}
		assert.Equal(t, test.want, table.Address(test.mapping, test.address), name)
	}
}

// sample returns a small index.
func sample(tb testing.TB) []byte {
	tb.Helper()
	b := newBuilder(tb)
	outer := add(b, LayerDebug, "outer", 0, 0x100, 0, Place{})
	add(b, LayerDebug, "inner", 0x10, 0x20, outer, Place{b.Text("a.c"), 1, 2})
	rows := b.Sequence()
	rows.Row(base, Place{b.Text("b.c"), 3, 4})
	rows.End(base + 0x100)
	return written(tb, b)
}

// An index with any wrong byte is refused.
func TestReadRefuses(t *testing.T) {
	data := sample(t)
	_, err := Read(data)
	require.NoError(t, err)
	for i := range data {
		damaged := append([]byte{}, data...)
		damaged[i] ^= 0x10
		_, err := Read(damaged)
		require.ErrorIs(t, err, ErrInvalid, "byte %d", i)
		_, err = Read(data[:i])
		require.ErrorIs(t, err, ErrInvalid, "the first %d bytes", i)
	}
}

// FuzzTable looks addresses up in a damaged index whose checksum fits. Run it with: go test -run '^$' -fuzz FuzzTable ./internal/index.
func FuzzTable(f *testing.F) {
	data := sample(f)
	f.Add(data, uint64(base+0x18))
	f.Add(data[:len(data)-3], uint64(base))
	f.Fuzz(func(t *testing.T, data []byte, address uint64) {
		if len(data) >= headerSize {
			clear(data[checksumAt : checksumAt+4])
			sum := crc32.Update(crc32.Checksum(data[headerSize:], castagnoli), castagnoli, data[:headerSize])
			binary.LittleEndian.PutUint32(data[checksumAt:], sum)
		}
		table, err := Read(data)
		if err != nil {
			return
		}
		for _, x := range []uint64{address, table.base, table.base + address%0x1000, table.Address(Mapping{address, address + 0x1000, 0x1000}, address)} {
			frames := table.Lookup(nil, x)
			require.LessOrEqual(t, len(frames), maxFrames)
			for _, frame := range frames {
				table.Names(frame)
			}
		}
		// The bytes of a mapped file can change after it was validated.
		for i := headerSize; i < len(data); i += 7 {
			data[i] ^= byte(address)
		}
		table.Lookup(nil, table.base+address%0x1000)
	})
}
