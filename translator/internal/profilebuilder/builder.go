// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profilebuilder builds the OTLP message of payloads that name their frames: texts and JSON. A reader of a format adds
// functions, locations and stacks to the dictionary as it finds them, and samples to profiles. The builder checks the limits,
// reserves the memory, and combines samples that are equal.
package profilebuilder // import "github.com/otelpprof/otelpprof/translator/internal/profilebuilder"

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Options are those of all formats.
type Options struct {
	// Limits are those of pprof. Where one is not positive, the default holds.
	Limits pprof.Limits
	// PayloadFormat, when set, says that the payload is copied into each profile, as of this format.
	PayloadFormat string
}

// Builder builds one message. Make it with [New]. Its first error stays, and what is added after it is dropped.
type Builder struct {
	dict     *dictionary.Builder
	src      pprof.Source
	options  Options
	limits   pprof.Limits
	payload  []byte
	profiles []*Profile
	stats    pprof.DecodeStats
	reserved reservation
	// frames is the number of frames of all stacks that were added, however often.
	frames int
	lines  int
	// repaired is the last text whose invalid bytes were replaced.
	repaired []byte
	err      error
}

// New returns a Builder, and the plain form of payload, which it may be itself.
func New(payload []byte, src pprof.Source, options Options) (*Builder, []byte, error) {
	b := &Builder{dict: dictionary.New(), src: src, options: options, limits: withDefaults(options.Limits), payload: payload}
	b.reserved.reserve = src.Reserve
	plain, err := b.inflate(payload)
	b.stats.InflatedBytes = len(plain)
	return b, plain, err
}

func (b *Builder) inflate(payload []byte) ([]byte, error) {
	limit := b.limits.InflatedBytes
	if inflate.Plain(payload) {
		if len(payload) > limit {
			return nil, TooLarge("bytes of the payload", len(payload), limit)
		}
		return payload, nil
	}
	return inflate.AppendReserving(nil, payload, limit, func(bytes int) error {
		b.reserved.inflated = max(b.reserved.inflated, int64(bytes))
		return b.reserved.ask(b.reserved.inflated)
	})
}

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail ends the building with err, unless there was an error before.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Locate says where the first error was found, if it is one of the payload. It is for when there is one: the arguments cost memory.
func (b *Builder) Locate(format string, args ...any) {
	if errors.Is(b.err, ErrMalformed) || errors.Is(b.err, ErrTooLarge) {
		b.err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), b.err)
	}
}

// Stats returns what is known of the payload where it was refused.
func (b *Builder) Stats() pprof.DecodeStats {
	return pprof.DecodeStats{InflatedBytes: b.stats.InflatedBytes}
}

// Limits returns the limits with their defaults.
func (b *Builder) Limits() *pprof.Limits { return &b.limits }

// replacement stands for a run of invalid bytes.
var replacement = []byte("\uFFFD")

// text returns s as valid UTF-8, until the next call, if it is not too long.
func (b *Builder) text(s []byte) []byte {
	if limit := b.limits.StringBytes; len(s) > limit {
		b.Fail(TooLarge("bytes of a string", len(s), limit))
	}
	if utf8.Valid(s) {
		b.Need(textFactor * int64(len(s)))
		return s
	}
	b.stats.Repairs.InvalidUTF8++
	b.Need(3 * textFactor * int64(len(s)))
	b.repaired = b.repaired[:0]
	for run := false; len(s) > 0 && b.err == nil; {
		r, size := utf8.DecodeRune(s)
		invalid := r == utf8.RuneError && size == 1
		switch {
		case !invalid:
			b.repaired = Append(b, b.repaired, s[:size]...)
		case !run:
			b.repaired = Append(b, b.repaired, replacement...)
		}
		run, s = invalid, s[size:]
	}
	return b.repaired
}

// String returns the index of a string.
func (b *Builder) String(s []byte) int32 {
	if len(s) == 0 {
		return 0
	}
	if s = b.text(s); b.err != nil {
		return 0
	}
	i := b.dict.StringBytes(s)
	if limit := b.limits.Strings; int(i) > limit {
		b.Fail(TooLarge("strings", int(i), limit))
	}
	return i
}

// Function returns the index of the function with this name in this file.
func (b *Builder) Function(name, file []byte) int32 {
	f := dictionary.Function{Name: b.String(name), Filename: b.String(file)}
	b.Need(entryBytes)
	if b.err != nil {
		return 0
	}
	i := b.dict.Function(f)
	if limit := b.limits.Functions; int(i) > limit {
		b.Fail(TooLarge("functions", int(i), limit))
	}
	return i
}

// Location returns the index of the location with these lines and sorted attributes.
func (b *Builder) Location(l dictionary.Location, lines []dictionary.Line, attributes []int32) int32 {
	if limit := b.limits.LinesPerLocation; len(lines) > limit {
		b.Fail(TooLarge("lines of a location", len(lines), limit))
	}
	b.Need(entryBytes + lineBytes*int64(len(lines)) + listItemBytes*int64(len(attributes)))
	if b.err != nil {
		return 0
	}
	known := b.dict.Len().Locations
	i := b.dict.Location(l, lines, attributes)
	if int(i) == known {
		b.lines += len(lines)
	}
	switch {
	case int(i) > b.limits.Locations:
		b.Fail(TooLarge("locations", int(i), b.limits.Locations))
	case b.lines > b.limits.Lines:
		b.Fail(TooLarge("lines", b.lines, b.limits.Lines))
	}
	return i
}

// NamedLocation returns the index of a location that is known by the name of its function only.
func (b *Builder) NamedLocation(name []byte) int32 {
	return b.Location(dictionary.Location{}, []dictionary.Line{{Function: b.Function(name, nil)}}, nil)
}

// Mapping returns the index of a mapping of which only the file is known, with sorted attributes.
func (b *Builder) Mapping(file []byte, attributes ...int32) int32 {
	m := dictionary.Mapping{Filename: b.String(file)}
	b.Need(entryBytes + listItemBytes*int64(len(attributes)))
	if b.err != nil {
		return 0
	}
	i := b.dict.Mapping(m, attributes)
	if limit := b.limits.Mappings; int(i) > limit {
		b.Fail(TooLarge("mappings", int(i), limit))
	}
	return i
}

// CheckDepth refuses a stack that has more frames than are allowed. It is for readers that hold a stack before they add it.
func (b *Builder) CheckDepth(frames int) bool {
	if limit := b.limits.LocationsPerSample; frames > limit {
		b.Fail(TooLarge("locations of a sample", frames, limit))
	}
	return b.err == nil
}

// Stack returns the index of the stack of these locations, the leaf first, or if rootFirst, the root.
func (b *Builder) Stack(locations []int32, rootFirst bool) int32 {
	b.frames += len(locations)
	// Few bytes of a tree or of events can stand for long stacks, each of which is copied and hashed.
	if limit := b.limits.InflatedBytes; b.frames > limit {
		b.Fail(TooLarge("locations of all samples", b.frames, limit))
	}
	b.Need(entryBytes + frameBytes*int64(len(locations)))
	if !b.CheckDepth(len(locations)) {
		return 0
	}
	stack := b.dict.NextStack(len(locations))
	for i, location := range locations {
		if rootFirst {
			i = len(locations) - 1 - i
		}
		stack[i] = location
	}
	return b.dict.AddNextStack(len(stack))
}

// StringAttribute returns the index of an attribute with a text.
func (b *Builder) StringAttribute(key string, value []byte) int32 {
	value = b.text(value)
	b.Need(dictionary.AttributeBytes + int64(len(key)))
	if b.err != nil {
		return 0
	}
	return b.dict.StringBytesAttribute(b.dict.String(key), 0, value)
}

// IntAttribute returns the index of an attribute with a number.
func (b *Builder) IntAttribute(key string, value int64) int32 {
	b.Need(dictionary.AttributeBytes + int64(len(key)))
	if b.err != nil {
		return 0
	}
	return b.dict.IntAttribute(b.dict.String(key), 0, value)
}

// TrueAttribute returns the index of an attribute that is true.
func (b *Builder) TrueAttribute(key string) int32 {
	b.Need(dictionary.AttributeBytes + int64(len(key)))
	if b.err != nil {
		return 0
	}
	return b.dict.BoolAttribute(b.dict.String(key), 0, true)
}
