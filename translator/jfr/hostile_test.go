// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// chunkOf returns a chunk of these parts. The metadata begin right behind the header.
func chunkOf(metadata, pools []byte) []byte {
	chunk := append(make([]byte, jfrtest.HeaderBytes), metadata...)
	chunk = append(chunk, pools...)
	copy(chunk, "FLR\x00\x00\x02")
	binary.BigEndian.PutUint64(chunk[8:], uint64(len(chunk)))
	binary.BigEndian.PutUint64(chunk[16:], uint64(jfrtest.HeaderBytes+len(metadata)))
	binary.BigEndian.PutUint64(chunk[24:], jfrtest.HeaderBytes)
	binary.BigEndian.PutUint32(chunk[64:], 1)
	return chunk
}

// with returns the recording of [jfrtest.Example] with another number at a position of its header.
func with(at int, value uint64) []byte {
	recording := jfrtest.Example().Bytes()
	binary.BigEndian.PutUint64(recording[at:], value)
	return recording
}

const most = 1<<32 - 1

// withPools returns a recording whose constant pools are followed by these bytes, at the position that the header names.
func withPools(pools func(at int) []byte) []byte {
	recording := jfrtest.Example().Bytes()
	at := len(recording)
	recording = append(recording, pools(at)...)
	binary.BigEndian.PutUint64(recording[16:], uint64(at))
	return endChunk(recording)
}

// endChunk sets the size of the chunk to that of the recording, so that appended bytes belong to the chunk.
func endChunk(recording []byte) []byte {
	binary.BigEndian.PutUint64(recording[8:], uint64(len(recording)))
	return recording
}

// changed returns the example after a change.
func changed(change func(r *jfrtest.Recording)) []byte {
	r := jfrtest.Example()
	change(r)
	return r.Bytes()
}

func numbers(values ...uint64) (out []byte) {
	for _, value := range values {
		out = jfrtest.AppendLong(out, value)
	}
	return out
}

// TestHostile checks the errors for recordings that claim more than they have.
func TestHostile(t *testing.T) {
	for name, test := range map[string]struct {
		recording []byte
		want      error
		says      string
	}{
		"nothing":            {[]byte{}, ErrMalformed, "no chunk"},
		"something else":     {bytes.Repeat([]byte("x"), 100), ErrMalformed, "does not begin with"},
		"no whole header":    {[]byte("FLR\x00"), ErrMalformed, "68 bytes, 4 are left"},
		"version":            {with(4, 1<<48), ErrMalformed, "version 1"},
		"fixed integers":     {with(60, 0), ErrMalformed, "fixed length"},
		"size":               {with(8, 1<<40), ErrMalformed, "size of the chunk: 1099511627776"},
		"small size":         {with(8, 67), ErrMalformed, "size of the chunk: 67"},
		"metadata elsewhere": {with(24, 1<<40), ErrMalformed, "position of the metadata: 1099511627776"},
		"pools elsewhere":    {with(16, 1<<40), ErrMalformed, "position of the constant pools"},
		"many chunks":        {bytes.Repeat(jfrtest.New().Bytes(), 4097), ErrTooLarge, "chunks: 4097, the limit is 4096"},
		"a long string": {
			changed(func(r *jfrtest.Recording) { r.Method(strings.Repeat("x", pprof.MaxStringBytes+1), "m") }), ErrTooLarge, "1048577, the limit is 1048576",
		},
		"strings of metadata": {chunkOf(numbers(0, 0, 0, 0, 0, most), numbers(0, 1)), ErrMalformed, "4294967295 strings"},
		"length of a string":  {chunkOf(append(numbers(0, 0, 0, 0, 0, 1, 3), numbers(most)...), numbers(0, 1)), ErrMalformed, "4294967295 bytes of a string"},
		"runes of a string":   {chunkOf(append(numbers(0, 0, 0, 0, 0, 1, 4), numbers(most)...), numbers(0, 1)), ErrMalformed, "4294967295 bytes of a string"},
		"kind of a string":    {chunkOf(numbers(0, 0, 0, 0, 0, 1, 9), numbers(0, 1)), ErrMalformed, "encoding 9"},
		"attributes":          {chunkOf(append(numbers(0, 0, 0, 0, 0, 1, 1, 0), numbers(most)...), numbers(0, 1)), ErrMalformed, "4294967295 attributes"},
		"children":            {chunkOf(append(numbers(0, 0, 0, 0, 0, 1, 1, 0, 0), numbers(most)...), numbers(0, 1)), ErrMalformed, "4294967295 children"},
		"pool ahead": {
			withPools(func(int) []byte { return append(numbers(20, 1, 0, 0, 5, 1, 0), make([]byte, 20)...) }), ErrMalformed, "5 bytes away",
		},
		"pool before the chunk": {withPools(func(int) []byte { return numbers(20, 1, 0, 0, minus(1<<40), 1, 0) }), ErrMalformed, "bytes away"},
		"pools that overlap": {
			// The first pool names an earlier position as that of another pool, which ends after the start of the first.
			withPools(func(int) []byte { return append(numbers(20, 1, 0, 0, minus(4), 1, 0), make([]byte, 20)...) }), ErrMalformed, "overlap",
		},
		"entries of a pool": {withPools(func(int) []byte { return numbers(20, 1, 0, 0, 0, 1, 1, jfrtest.ClassSymbol, most) }), ErrMalformed, "4294967295 constants"},
		"class of a pool":   {withPools(func(int) []byte { return numbers(20, 1, 0, 0, 0, 1, 1, 999, 0, 0) }), ErrMalformed, "class 999"},
		"frames of a stack": {
			withPools(func(int) []byte { return numbers(20, 1, 0, 0, 0, 1, 1, jfrtest.ClassStackTrace, 1, 1, 0, most) }), ErrMalformed, "4294967295 values",
		},
		"frames without fields": {changed(func(r *jfrtest.Recording) { classOf(r, jfrtest.ClassStackFrame).Fields = nil }), ErrMalformed, "has no fields"},
		"a class that is missing": {
			changed(func(r *jfrtest.Recording) { r.Classes = slices.Delete(r.Classes, 6, 7) }), ErrMalformed, "(missing)",
		},
		"many fields": {
			changed(func(r *jfrtest.Recording) {
				c := classOf(r, jfrtest.ClassMalloc)
				c.Fields = slices.Repeat(c.Fields, 100)
			}), ErrTooLarge, "fields of a class: 257",
		},
		"an event without end":    {changed(func(r *jfrtest.Recording) { r.RawEvent(jfrtest.ClassMalloc, numbers(1, 2)) }), ErrMalformed, "Malloc"},
		"an event of no bytes":    {endChunk(append(jfrtest.Example().Bytes(), 0)), ErrMalformed, "an event has 0 bytes"},
		"an event behind the end": {endChunk(append(jfrtest.Example().Bytes(), 100, 1)), ErrMalformed, "an event has 100 bytes, 2 are left"},
		"a string behind its event": {
			changed(func(r *jfrtest.Recording) {
				r.RawEvent(jfrtest.ClassActiveSetting, append(numbers(0, 0, 0, 0, 0, 5), numbers(1<<20)...))
			}), ErrMalformed, "1048576 bytes of a string",
		},
		"many objects within objects": {changed(func(r *jfrtest.Recording) {
			fields := slices.Repeat([]jfrtest.Field{{Name: "next", Class: 999}}, 256)
			r.Classes = append(r.Classes, jfrtest.Class{ID: 999, Name: "Loop", Fields: fields})
			r.PoolOrder = append(r.PoolOrder, 999)
			r.ConstantAt(999, 1, numbers(1))
		}), ErrMalformed, `"Loop"`},
		"two classes of a pool": {changed(func(r *jfrtest.Recording) {
			fields := append(slices.Repeat([]jfrtest.Field{{Name: "x", Class: jfrtest.ClassLong}}, 250), jfrtest.Field{Name: "string", Class: jfrtest.ClassString})
			r.Classes = append(r.Classes, jfrtest.Class{ID: 999, Name: "jdk.types.Symbol", Fields: fields})
			r.PoolOrder = append(r.PoolOrder, 999)
		}), ErrMalformed, `two classes of constants have the name "jdk.types.Symbol"`},
		"a setting that ends with the chunk": {
			endChunk(append(jfrtest.Example().Bytes(), numbers(2, jfrtest.ClassActiveSetting)...)), ErrMalformed, "ActiveSetting",
		},
		"objects within objects": {changed(func(r *jfrtest.Recording) {
			r.Classes = append(r.Classes, jfrtest.Class{ID: 999, Name: "Loop", Fields: []jfrtest.Field{{Name: "next", Class: 999}}})
			r.PoolOrder = append(r.PoolOrder, 999)
			r.ConstantAt(999, 1, numbers(1))
		}), ErrMalformed, `"Loop"`},
	} {
		t.Run(name, func(t *testing.T) {
			allocated := memorytest.Allocated(func() {
				_, _, err := NewDecoder(Options{}).Decode(test.recording, Source{})
				require.ErrorIs(t, err, test.want)
				assert.ErrorContains(t, err, test.says)
			})
			assert.Less(t, allocated, 4<<20+200*int64(len(test.recording)))
		})
	}
}

func minus(n int64) uint64 { return uint64(-n) }

// TestFieldsOfOtherForms: a field is not read as a text, or as the frames of a stack, for its name alone. Its value is no position then.
func TestFieldsOfOtherForms(t *testing.T) {
	for form, field := range map[string]jfrtest.Field{
		"number": {Class: jfrtest.ClassLong}, "reference": {Class: jfrtest.ClassString, Pool: true}, "texts": {Class: jfrtest.ClassString, Array: true},
	} {
		for _, value := range []uint64{0, 1, 100, 1 << 40, minus(6)} {
			if field.Array {
				value = 0 // texts
			}
			r := jfrtest.New()
			named := func(name string) jfrtest.Field {
				field.Name = name
				return field
			}
			number := jfrtest.Field{Name: "javaThreadId", Class: jfrtest.ClassLong}
			classOf(r, jfrtest.ClassSymbol).Fields = []jfrtest.Field{named("string")}
			classOf(r, jfrtest.ClassThreadState).Fields = []jfrtest.Field{named("name")}
			classOf(r, jfrtest.ClassThread).Fields = []jfrtest.Field{named("osName"), named("javaName"), number}
			stacks, settings := classOf(r, jfrtest.ClassStackTrace), classOf(r, jfrtest.ClassActiveSetting)
			stacks.Fields = append(stacks.Fields, named("frames"))
			settings.Fields = append(settings.Fields[:len(settings.Fields)-2], named("name"), named("value"))
			symbol := r.Constant(jfrtest.ClassSymbol, numbers(value))
			method := r.Constant(jfrtest.ClassMethod, numbers(r.Constant(jfrtest.ClassClass, numbers(symbol)), symbol))
			stack := r.Constant(jfrtest.ClassStackTrace, append([]byte{0}, numbers(1, method, 7, 0, 0, value)...))
			thread := r.Constant(jfrtest.ClassThread, numbers(value, value, 3))
			r.RawEvent(jfrtest.ClassActiveSetting, numbers(0, 0, 0, 0, jfrtest.ClassExecutionSample, value, value))
			r.ExecutionSample(1000, thread, stack, r.Constant(jfrtest.ClassThreadState, numbers(value)), jfrtest.Context{})
			pd, _ := mustDecode(t, r.Bytes(), Source{})
			assert.Equal(t, []string{"[unknown]:7(jvm) | thread.id=3 | | 1@0"},
				samplesOf(pd, profilesOf(t, pd)["process_cpu samples/count"], jfrtest.Start), "%s %d", form, value)
		}
	}
}

// TestNegativeAmounts: durations and sizes are signed numbers, and none of them is the largest number.
func TestNegativeAmounts(t *testing.T) {
	r := jfrtest.New()
	thread, stack := r.Thread("main", 1, 2), r.Stack(false, jfrtest.Frame{Method: r.Method("A", "b"), Line: 1})
	for _, amount := range []uint64{minus(5), 3_000_000} {
		r.Event(jfrtest.ClassThreadPark, 2000, amount, thread, stack, 1, 0)
		r.Event(jfrtest.ClassAllocationSample, 2000, thread, stack, 1, amount)
	}
	pd, _ := mustDecode(t, r.Bytes(), Source{})
	assert.Equal(t, map[string]int64{
		"block delay/nanoseconds": 3_000_000, "block contentions/count": 2,
		"memory alloc_sample_bytes/bytes": 3_000_000, "memory alloc_sample_objects/count": 2,
	}, sumsOf(t, pd))
}

func classOf(r *jfrtest.Recording, id int) *jfrtest.Class {
	return &r.Classes[slices.IndexFunc(r.Classes, func(c jfrtest.Class) bool { return c.ID == id })]
}

// TestLimits checks each limit, just below and at it.
func TestLimits(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	for name, test := range map[string]struct {
		enough func(l *pprof.Limits, n int)
		n      int
		says   string
	}{
		"inflated bytes":       {func(l *pprof.Limits, n int) { l.InflatedBytes = n }, len(recording), "bytes"},
		"samples":              {func(l *pprof.Limits, n int) { l.Samples = n }, 22, "samples: 22, the limit is 21"},
		"locations per sample": {func(l *pprof.Limits, n int) { l.LocationsPerSample = n }, 3, "frames of a stack: 3, the limit is 2"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, missing := range []int{0, 1} {
				var opts Options
				test.enough(&opts.Limits, test.n-missing)
				for _, payload := range [][]byte{recording, profiletest.Gzip(t, recording)} {
					_, _, err := NewDecoder(opts).Decode(payload, Source{})
					if missing == 0 {
						require.NoError(t, err)
						continue
					}
					require.ErrorIs(t, err, ErrTooLarge)
					assert.ErrorContains(t, err, test.says)
				}
			}
		})
	}
}

// TestRepeatedText checks that few bytes cannot stand for much text: each method repeats the name of its class.
func TestRepeatedText(t *testing.T) {
	r := jfrtest.New()
	long := strings.Repeat("x", 1<<20)
	var frames []jfrtest.Frame
	for i := range 100 {
		frames = append(frames, jfrtest.Frame{Method: r.Method(long, strings.Repeat("m", i+1)), Line: 1})
	}
	r.ExecutionSample(1000, 0, r.Stack(false, frames...), 0, jfrtest.Context{})
	_, _, err := NewDecoder(Options{}).Decode(r.Bytes(), Source{})
	require.ErrorIs(t, err, ErrTooLarge)
	assert.ErrorContains(t, err, "bytes of text in functions and attributes")
}

// TestTruncated checks that a recording that ends early is an error wherever it ends.
func TestTruncated(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	decoder := NewDecoder(Options{})
	for n := range len(recording) {
		_, _, err := decoder.Decode(recording[:n], Source{})
		require.ErrorIs(t, err, ErrMalformed, n)
		cut := bytes.Clone(recording[:n])
		if n >= jfrtest.HeaderBytes {
			// The size in the header does not reveal the truncation.
			_, _, err := decoder.Decode(endChunk(cut), Source{})
			require.ErrorIs(t, err, ErrMalformed, n)
		}
	}
}

// TestEveryByte checks that no byte makes the translation panic, or ask for less than it allocates.
func TestEveryByte(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	for i := range recording {
		for _, value := range []byte{0, 0x7f, 0xff, recording[i] ^ 1} {
			broken := bytes.Clone(recording)
			broken[i] = value
			memorytest.CheckCovered(t, translating(broken, jfrtest.Labels()))
		}
	}
}

// TestArrayWithinObject: an array that is the last field of an object is skipped before the next field of the object around it.
func TestArrayWithinObject(t *testing.T) {
	r := jfrtest.New()
	r.Classes = append(r.Classes, jfrtest.Class{ID: 999, Name: "Array", Fields: []jfrtest.Field{{Name: "x", Class: jfrtest.ClassLong, Array: true}}})
	symbol := classOf(r, jfrtest.ClassSymbol)
	symbol.Fields = append([]jfrtest.Field{{Name: "array", Class: 999}}, symbol.Fields...)
	name := r.Constant(jfrtest.ClassSymbol, jfrtest.AppendText(numbers(2, 5, 5), "hot"))
	stack := r.Stack(false, jfrtest.Frame{Method: r.Constant(jfrtest.ClassMethod, numbers(0, name))})
	r.ExecutionSample(1, 0, stack, 0, jfrtest.Context{})
	pd, _, err := NewDecoder(Options{}).Decode(r.Bytes(), Source{})
	require.NoError(t, err)
	assert.Contains(t, pd.Dictionary().StringTable().AsRaw(), "hot")
}
