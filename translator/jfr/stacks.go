// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"github.com/grafana/jfr-parser/parser/types"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
)

// openChunk begins a chunk: it clears the constants of the chunk before, sets the clock, and extends the time of the profiles.
func (t *decoding) openChunk(o *outline.Chunk) {
	c := &t.chunk
	c.outline = o
	c.stacks = scratch.Zeroed(c.stacks, len(o.Stacks))
	c.functions = scratch.Zeroed(c.functions, o.Methods)
	c.frames = scratch.Zeroed(c.frames, tableSize(2*o.Methods, maxFrameEntries))
	c.samples = scratch.Zeroed(c.samples, tableSize(o.Parsed, maxSampleEntries))
	clear(c.threads)
	c.threads = c.threads[:0]
	for range t.parser.Threads.Thread {
		c.threads = append(c.threads, nil)
	}
	c.frameTypes = [outline.NoFrameType + 1]int32{}
	c.lastKnown = false
	c.states = map[types.ThreadStateRef]int32{}
	header := t.parser.ChunkHeader()
	t.clock = newClock(header)
	begin, _ := t.clock.time(header.StartTicks)
	t.note(begin)
	t.last = max(t.last, min(begin+min(header.DurationNanos, 1<<62), maxTime))
}

// note extends the time range of the profiles to include a time in nanoseconds.
func (t *decoding) note(time uint64) {
	t.first = min(t.first, time)
	t.last = max(t.last, time+1)
}

// stack returns the dictionary index of a stack of the chunk, and whether the profiler truncated the stack.
func (t *decoding) stack(ref types.StackTraceRef) (index int32, truncated bool) {
	position, known := t.parser.Stacktrace.IDMap[ref]
	if !known || int(position) >= len(t.chunk.stacks) {
		t.stats.Repairs.NoStack++
		return 0, false
	}
	stack := &t.parser.Stacktrace.StackTrace[position]
	if index := t.chunk.stacks[position]; index != 0 {
		return index - 1, stack.Truncated
	}
	index = t.addStack(stack, t.chunk.outline.FrameTypesOf(int(position)))
	t.chunk.stacks[position] = index + 1
	return index, stack.Truncated
}

func (t *decoding) addStack(stack *types.StackTrace, frameTypes []byte) int32 {
	n := len(stack.Frames)
	if !t.need(stackSizes.Bytes(0, 0) + int64(n)*frameSizes.Bytes(2, 2)) {
		return 0
	}
	locations := t.dict.NextStack(n)
	for i := range stack.Frames {
		frameType := byte(outline.NoFrameType)
		if i < len(frameTypes) {
			frameType = frameTypes[i]
		}
		locations[i] = t.location(&stack.Frames[i], frameType)
	}
	return t.dict.AddNextStack(n)
}

// The largest numbers of entries that a stack and a frame add to the dictionary.
var (
	stackSizes = dictionary.Sizes{Stacks: 2}
	frameSizes = dictionary.Sizes{Strings: 2, Functions: 2, Locations: 2}
)

// frameEntry is an entry of chunk.frames: a frame and its location.
type frameEntry struct {
	frame     types.StackFrame
	frameType byte
	// location is the index in the dictionary plus one. 0 means that the entry is empty.
	location int32
}

// The numbers of entries of chunk.frames and chunk.samples. The maximum keeps the tables in the cache of a processor.
const (
	minEntries       = 1 << 6
	maxFrameEntries  = 1 << 15
	maxSampleEntries = 1 << 12
)

// tableSize returns the number of places of a table for this many entries: the next power of two, from minEntries to largest.
func tableSize(entries, largest int) int {
	return 1 << bits.Len(uint(min(max(entries, minEntries), largest)-1))
}

// location returns the dictionary index of the location of a frame. Stacks often have the same frames, so a hash table without chains
// keeps the last frame of each hash.
func (t *decoding) location(frame *types.StackFrame, frameType byte) int32 {
	hash := (uint64(frame.Method)<<20 ^ uint64(frame.LineNumber)) * 0x9e3779b97f4a7c15
	entry := &t.chunk.frames[hash>>32&uint64(len(t.chunk.frames)-1)]
	if entry.location == 0 || entry.frame != *frame || entry.frameType != frameType {
		*entry = frameEntry{*frame, frameType, t.addLocation(frame, frameType) + 1}
	}
	return entry.location - 1
}

// addLocation adds the location of a frame to the dictionary and returns its index. Inlined frames have locations of their own, as in
// the recording.
func (t *decoding) addLocation(frame *types.StackFrame, frameType byte) int32 {
	line := [1]dictionary.Line{{Function: t.function(frame.Method), Line: max(int64(int32(frame.LineNumber)), 0)}}
	attributes := [1]int32{t.frameType(frameType)}
	if attributes[0] == 0 {
		return t.dict.Location(dictionary.Location{}, line[:], nil)
	}
	return t.dict.Location(dictionary.Location{}, line[:], attributes[:])
}

// unknownMethod is the name of a function whose method is not in the recording. OTLP requires a name.
const unknownMethod = "[unknown]"

// function returns the dictionary index of the function of a method. The name of the function is the class, a dot and the name of the
// method. Native functions have a library in place of the class, or nothing.
func (t *decoding) function(ref types.MethodRef) int32 {
	p := t.parser
	position, known := p.Methods.IDMap[ref]
	if !known || int(position) >= len(t.chunk.functions) {
		t.stats.Repairs.NoMethod++
		return t.dict.Function(dictionary.Function{Name: t.dict.String(unknownMethod)})
	}
	if index := t.chunk.functions[position]; index != 0 {
		return index - 1
	}
	method := &p.Methods.Method[position]
	class := ""
	if c := p.GetClass(method.Type); c != nil {
		class = p.GetSymbolString(c.Name)
	}
	name := p.GetSymbolString(method.Name)
	if !t.spendText(len(class)+len(name)) || !t.need(3*int64(len(class)+len(name)+1)) {
		return 0
	}
	t.text = append(t.text[:0], class...)
	if class != "" && name != "" {
		t.text = append(t.text, '.')
	}
	t.text = append(t.text, name...)
	if len(t.text) == 0 {
		t.text = append(t.text, unknownMethod...)
	}
	index := t.dict.Function(dictionary.Function{Name: t.dict.StringBytes(t.valid(t.text))})
	t.chunk.functions[position] = index + 1
	return index
}

// valid returns text as valid UTF-8.
func (t *decoding) valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	t.stats.Repairs.InvalidUTF8++
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// frameTypes maps the names of frame types of the JDK and async-profiler to values of profile.frame.type. A frame of a native Java
// method is native.
var frameTypes = map[string]string{
	"Interpreted": "jvm", "JIT compiled": "jvm", "C1 compiled": "jvm", "Inlined": "jvm",
	"Native": "native", "C++": "native", "Kernel": "kernel",
}

// frameType returns the index of the attribute for a frame type, or 0 for none.
func (t *decoding) frameType(number byte) int32 {
	if number == outline.NoFrameType {
		return 0
	}
	known := &t.chunk.frameTypes[number]
	if *known == 0 {
		*known = 1
		if position, found := t.parser.FrameTypes.IDMap[types.FrameTypeRef(number)]; found {
			if name := frameTypes[t.parser.FrameTypes.FrameType[position].Description]; name != "" {
				*known = 1 + t.dict.StringAttribute(t.key(&t.keys.frameType, attributeFrameType), 0, name)
			}
		}
	}
	return *known - 1
}
