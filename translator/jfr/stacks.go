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

// openChunk forgets the constants of the chunk before.
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

// note extends the time of the profiles to that of an event.
func (t *decoding) note(time uint64) {
	t.first = min(t.first, time)
	t.last = max(t.last, time+1)
}

// stack returns the dictionary's stack for one of the chunk, and whether it was truncated.
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

// What a stack and a frame may add to the dictionary.
var (
	stackSizes = dictionary.Sizes{Stacks: 2}
	frameSizes = dictionary.Sizes{Strings: 2, Functions: 2, Locations: 2}
)

// frameEntry remembers the location of a frame.
type frameEntry struct {
	frame     types.StackFrame
	frameType byte
	// location is that of the dictionary plus one.
	location int32
}

// The tables of frames and of observations stay in the cache of a processor.
const (
	minEntries       = 1 << 6
	maxFrameEntries  = 1 << 15
	maxSampleEntries = 1 << 12
)

// tableSize returns the size of a table for so many entries: the next power of two, up to the largest.
func tableSize(entries, largest int) int {
	return 1 << bits.Len(uint(min(max(entries, minEntries), largest)-1))
}

// location returns the dictionary's location for a frame. Stacks have the same frames again and again, so the table has for
// each place the last frame that belongs there.
func (t *decoding) location(frame *types.StackFrame, frameType byte) int32 {
	hash := (uint64(frame.Method)<<20 ^ uint64(frame.LineNumber)) * 0x9e3779b97f4a7c15
	entry := &t.chunk.frames[hash>>32&uint64(len(t.chunk.frames)-1)]
	if entry.location == 0 || entry.frame != *frame || entry.frameType != frameType {
		*entry = frameEntry{*frame, frameType, t.addLocation(frame, frameType) + 1}
	}
	return entry.location - 1
}

// addLocation puts the location of a frame into the dictionary. Frames that were inlined have locations of their own, as in the
// recording.
func (t *decoding) addLocation(frame *types.StackFrame, frameType byte) int32 {
	line := [1]dictionary.Line{{Function: t.function(frame.Method), Line: max(int64(int32(frame.LineNumber)), 0)}}
	attributes := [1]int32{t.frameType(frameType)}
	if attributes[0] == 0 {
		return t.dict.Location(dictionary.Location{}, line[:], nil)
	}
	return t.dict.Location(dictionary.Location{}, line[:], attributes[:])
}

// unknownMethod is the name of a function whose method is not in the recording: OTLP wants a name.
const unknownMethod = "[unknown]"

// function returns the dictionary's function for a method: its class, a dot and its name. Native functions have a library for
// a class, or none.
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

// frameTypes are the values of profile.frame.type by what the JDK and async-profiler call the types. A frame of a method that is
// native in Java is native.
var frameTypes = map[string]string{
	"Interpreted": "jvm", "JIT compiled": "jvm", "C1 compiled": "jvm", "Inlined": "jvm",
	"Native": "native", "C++": "native", "Kernel": "kernel",
}

// frameType returns the attribute for a type of frames, 0 for none.
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
