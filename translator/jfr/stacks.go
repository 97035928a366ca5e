// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// stack returns the dictionary index of a stack, and whether the profiler truncated the stack. An event of the JDK at the start of a
// chunk can refer to a stack that only the chunk before has.
func (t *decoding) stack(id uint64) (index int32, truncated bool) {
	if constant := t.chunk.constant(poolStacks, id); constant != nil {
		return t.stackOf(constant)
	}
	if id != 0 && t.number > 0 && follows(t.chunk, t.chunks[t.number-1]) {
		chunk := t.chunk
		t.number--
		t.chunk = t.chunks[t.number]
		defer func() {
			t.chunk = chunk
			t.number++
		}()
		if constant := t.chunk.constant(poolStacks, id); constant != nil {
			return t.stackOf(constant)
		}
	}
	t.stats.Repairs.NoStack++
	return 0, false
}

// follows reports whether a process wrote a chunk right after another one. The chunks of a file can be of several processes.
func follows(c, before *chunk) bool {
	gap := int64(c.startNanos - before.startNanos - before.durationNanos)
	return c.ticksPerSecond == before.ticksPerSecond && -second < gap && gap < second
}

// stackOf returns the dictionary index of a stack of the chunk. The index of its constant is that in the dictionary plus one, and
// negative for a truncated stack.
func (t *decoding) stackOf(constant *constant) (index int32, truncated bool) {
	if constant.index == 0 {
		stack := t.chunk.fields(poolStacks, constant)
		truncated := stack[fieldTruncated] != 0
		if constant.index = t.addStack(t.chunk.frames(stack)) + 1; truncated {
			constant.index = -constant.index
		}
	}
	if constant.index < 0 {
		return -constant.index - 1, true
	}
	return constant.index - 1, false
}

func (t *decoding) addStack(frames *frames) int32 {
	if t.meter.Need(stackSizes.Bytes(0, 0)+int64(frames.len)*frameSizes.Bytes(2, 2)) != nil {
		return 0
	}
	locations := t.dict.NextStack(frames.len)
	for i := range locations {
		locations[i] = t.location(frames.next())
	}
	return t.dict.AddNextStack(frames.len)
}

// The largest numbers of entries that a stack and a frame add to the dictionary.
var (
	stackSizes = dictionary.Lengths{dictionary.Stacks: 2}
	frameSizes = dictionary.Lengths{dictionary.Strings: 2, dictionary.Functions: 2, dictionary.Locations: 2}
)

// frameEntry is an entry of decoding.frames: a frame of a chunk and its location.
type frameEntry struct {
	method, line, frameType uint64
	chunk                   int32
	// location is the index in the dictionary plus one. 0 means that the entry is empty.
	location int32
}

// frameBits is the number of bits of an index of decoding.frames. The table stays in the cache of a processor.
const frameBits = 12

// location returns the dictionary index of the location of a frame. Stacks often have the same frames, so a hash table without chains
// keeps the last frame of each hash. Inlined frames have locations of their own, as in the recording.
func (t *decoding) location(method, line, frameType uint64) int32 {
	entry := &t.frames[(method<<20^line)*0x9e3779b97f4a7c15>>(64-frameBits)]
	if entry.location == 0 || entry.method != method || entry.line != line || entry.frameType != frameType || entry.chunk != t.number {
		lines := [1]dictionary.Line{{Function: t.function(method), Line: max(int64(int32(line)), 0)}}
		attributes := [1]int32{t.named(poolFrameTypes, frameType, t.frameType)}
		set := attributes[:min(attributes[0], 1)] // 0 is none.
		*entry = frameEntry{method, line, frameType, t.number, t.dict.Location(dictionary.Location{}, lines[:], set) + 1}
	}
	return entry.location - 1
}

// unknownMethod is the name of a function whose method is not in the recording. OTLP requires a name.
const unknownMethod = "[unknown]"

// function returns the dictionary index of the function of a method. The name of the function is the class, a dot and the name of the
// method. Native functions have a library in place of the class, or nothing.
func (t *decoding) function(id uint64) int32 {
	constant := t.chunk.constant(poolMethods, id)
	if constant == nil {
		t.stats.Repairs.NoFunction++
		return t.dict.Function(dictionary.Function{Name: t.dict.String(unknownMethod)})
	}
	if constant.index != 0 {
		return constant.index - 1
	}
	method := t.chunk.fields(poolMethods, constant)
	of, name := method[fieldType], method[fieldName]
	t.text = t.text[:0]
	if class := t.chunk.constant(poolClasses, of); class != nil {
		t.appendSymbol(t.chunk.fields(poolClasses, class)[fieldName])
	}
	class := len(t.text)
	if class > 0 {
		t.text = append(t.text, '.')
	}
	if t.appendSymbol(name); len(t.text) == class+1 {
		t.text = t.text[:class]
	}
	if len(t.text) == 0 {
		t.text = append(t.text, unknownMethod...)
	}
	if t.meter.Err() != nil {
		return 0
	}
	text := t.text
	if !t.opts.KeepGeneratedNames {
		text = t.names.Name(text)
	}
	index := t.dict.Function(dictionary.Function{Name: t.dict.StringBytes(t.valid(text))})
	constant.index = index + 1
	return index
}

func (t *decoding) appendSymbol(id uint64) {
	if symbol := t.chunk.constant(poolSymbols, id); symbol != nil {
		t.appendText(t.chunk.fields(poolSymbols, symbol)[fieldText])
	}
}

// appendText appends a text of the chunk to t.text, if there is memory: twice for the buffer, once in the dictionary, and once to
// normalize a name.
func (t *decoding) appendText(at uint64) {
	if n := t.chunk.textBytes(at); t.spendText(n) && t.meter.Need(4*int64(n)) == nil {
		t.text = t.chunk.appendTextAt(t.text, at, n)
	}
}

// shortText returns the beginning of a text of the chunk. It is valid until the next call.
func (t *decoding) shortText(at uint64) []byte {
	t.text = t.chunk.appendTextAt(t.text[:0], at, 64)
	return t.text
}

// valid returns text as valid UTF-8.
func (t *decoding) valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	t.stats.Repairs.InvalidUTF8++
	return dictionary.ValidText(text)
}

// frameTypes maps the names of frame types of the JDK and async-profiler to values of profile.frame.type. A frame of a native Java
// method is native.
var frameTypes = map[string]string{
	"Interpreted": semconv.FrameTypeJVM, "JIT compiled": semconv.FrameTypeJVM, "C1 compiled": semconv.FrameTypeJVM, "Inlined": semconv.FrameTypeJVM,
	"Native": semconv.FrameTypeNative, "C++": semconv.FrameTypeNative, "Kernel": semconv.FrameTypeKernel,
}

// frameType returns the attribute for the name of a frame type, or 0 for none.
func (t *decoding) frameType(name []byte) int32 {
	if value := frameTypes[string(name)]; value != "" {
		return t.dict.StringAttribute(t.dict.String(semconv.LocationFrameType), value)
	}
	return 0
}
