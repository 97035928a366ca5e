// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profilebuilder builds the OTLP message for payloads whose frames have names: text formats and JSON. A reader
// adds functions, locations and stacks to the dictionary as it reads them, and samples to profiles. The builder checks
// the limits and the memory, and combines equal samples.
package profilebuilder // import "github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/internal/javaframe"
	"github.com/otelpprof/otelpprof/translator/internal/limits"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// Builder builds one message. [Decode] creates it. It keeps the first error and ignores everything that is added after
// it.
type Builder struct {
	dict    *dictionary.Builder
	src     pprof.Source
	options text.Options
	payload []byte
	// begin has the first bytes of the decompressed payload.
	begin []byte
	// format is the original_payload_format.
	format   string
	profiles []*Profile
	stats    pprof.DecodeStats
	meter    *meter.Meter
	// message is the size of the message without its dictionary, in bytes.
	message int64
	// frames counts the frames of all added stacks, repeated stacks included.
	frames int
	// repaired is the last text whose invalid bytes were replaced. Its memory is reused.
	repaired []byte
	names    javaframe.Normalizer
	// longestName is the length of the longest name that was normalized. The normalizer has a copy.
	longestName int
	err         error
}

// Decode calls read with a new Builder and the decompressed payload, and returns the message that read has built. If the payload is
// not compressed, read gets payload itself. read reports an error with [Builder.Fail]. On an error, the message is empty. format is
// the original_payload_format.
func Decode(
	payload []byte, src pprof.Source, options text.Options, format string, read func(b *Builder, plain []byte),
) (pprofile.Profiles, pprof.DecodeStats, error) {
	options.Limits = limits.WithDefaults(options.Limits, pprof.DefaultLimits())
	b := &Builder{dict: dictionary.New(), src: src, options: options, payload: payload, format: format}
	b.meter = meter.New(baseBytes, src.Reserve)
	var buffer, plain []byte
	plain, b.stats.InflatedBytes, b.err = inflatePayload.Open(&buffer, payload, options.Limits.InflatedBytes, b.meter)
	if b.err != nil {
		return pprofile.Profiles{}, b.statsOfRefused(), b.err
	}
	b.begin = plain[:min(len(plain), pprof.BeginBytes)]
	read(b, plain)
	return b.finish()
}

// inflatePayload decompresses payloads.
var inflatePayload = inflate.Payload{Name: "payload", Malformed: text.ErrMalformed, TooLarge: text.ErrTooLarge}

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail sets the error of the builder, unless it has one.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// AddPosition prefixes the first error with a position, if the payload caused it. Call it only if there is an error: its
// arguments allocate memory.
func (b *Builder) AddPosition(format string, args ...any) {
	if errors.Is(b.err, text.ErrMalformed) || errors.Is(b.err, text.ErrTooLarge) {
		b.err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), b.err)
	}
}

// Malformed returns an [text.ErrMalformed] with a description of the fault.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", text.ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an [text.ErrTooLarge] for a limit that is exceeded.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", text.ErrTooLarge, what, got, limit)
}

// statsOfRefused returns the statistics of a payload that was refused.
func (b *Builder) statsOfRefused() pprof.DecodeStats {
	stats := pprof.DecodeStats{InflatedBytes: b.stats.InflatedBytes}
	if b.meter.Err() == nil {
		stats.Begin = bytes.Clone(b.begin)
	}
	return stats
}

// Limits returns the limits, with defaults set.
func (b *Builder) Limits() *pprof.Limits { return &b.options.Limits }

// replacement replaces a run of invalid bytes.
var replacement = []byte("\uFFFD")

// CheckText sets the error if a text of this length is too long.
func (b *Builder) CheckText(length int) {
	if length > pprof.MaxStringBytes {
		b.Fail(TooLarge("bytes of a string", length, pprof.MaxStringBytes))
	}
}

// text returns s as valid UTF-8. The result is valid until the next call. A text longer than the limit is an error.
func (b *Builder) text(s []byte) []byte {
	b.CheckText(len(s))
	if utf8.Valid(s) {
		b.need(textFactor * int64(len(s)))
		return s
	}
	b.stats.Repairs.InvalidUTF8++
	b.need(3 * textFactor * int64(len(s)))
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

// addString returns the index of a string.
func (b *Builder) addString(s []byte) int32 {
	if len(s) == 0 {
		return 0
	}
	if s = b.text(s); b.err != nil {
		return 0
	}
	return b.dict.StringBytes(s)
}

// Function returns the index of the function with this name in this file.
func (b *Builder) Function(name, file []byte) int32 {
	f := dictionary.Function{Name: b.addString(b.normalized(name)), Filename: b.addString(file)}
	b.need(entryBytes)
	if b.err != nil {
		return 0
	}
	return b.dict.Function(f)
}

// normalized returns the name of a function without what a JVM generates. The result is valid until the next call.
func (b *Builder) normalized(name []byte) []byte {
	if b.options.KeepGeneratedNames || len(name) > pprof.MaxStringBytes {
		return name
	}
	if more := len(name) - b.longestName; more > 0 {
		b.Use(0, 2*int64(more))
		b.longestName = len(name)
	}
	if b.err != nil {
		return nil
	}
	return b.names.Name(name)
}

// Location returns the index of the location with these lines and attributes. The attributes must be sorted.
func (b *Builder) Location(l dictionary.Location, lines []dictionary.Line, attributes []int32) int32 {
	if len(lines) > pprof.MaxLinesPerLocation {
		b.Fail(TooLarge("lines of a location", len(lines), pprof.MaxLinesPerLocation))
	}
	b.need(entryBytes + lineBytes*int64(len(lines)) + listItemBytes*int64(len(attributes)))
	if b.err != nil {
		return 0
	}
	return b.dict.Location(l, lines, attributes)
}

// NamedLocation returns the index of a location of which only the function name is known.
func (b *Builder) NamedLocation(name []byte) int32 {
	return b.Location(dictionary.Location{}, []dictionary.Line{{Function: b.Function(name, nil)}}, nil)
}

// Mapping returns the index of a mapping of a file. The attributes must be sorted.
func (b *Builder) Mapping(m dictionary.Mapping, file []byte, attributes ...int32) int32 {
	m.Filename = b.addString(file)
	b.need(entryBytes + listItemBytes*int64(len(attributes)))
	if b.err != nil {
		return 0
	}
	return b.dict.Mapping(m, attributes)
}

// CheckDepth reports whether a stack may have this number of frames. If not, it sets the error. Readers that collect a
// stack before they add it must call it.
func (b *Builder) CheckDepth(frames int) bool {
	if limit := b.options.Limits.LocationsPerSample; frames > limit {
		b.Fail(TooLarge("locations of a sample", frames, limit))
	}
	return b.err == nil
}

// Stack returns the index of the stack with these locations. They are leaf first, or root first if rootFirst is true.
func (b *Builder) Stack(locations []int32, rootFirst bool) int32 {
	b.frames += len(locations)
	// A small tree or event list can contain many long stacks, and each is copied and hashed. Limit the total.
	if limit := b.options.Limits.InflatedBytes; b.frames > limit {
		b.Fail(TooLarge("locations of all samples", b.frames, limit))
	}
	b.need(entryBytes + frameBytes*int64(len(locations)))
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

// StringAttribute returns the index of an attribute with a string value.
func (b *Builder) StringAttribute(key string, value []byte) int32 {
	value = b.text(value)
	return b.attribute(key, func(key int32) int32 { return b.dict.StringBytesAttribute(key, 0, value) })
}

// IntAttribute returns the index of an attribute with an int value.
func (b *Builder) IntAttribute(key string, value int64) int32 {
	return b.attribute(key, func(key int32) int32 { return b.dict.IntAttribute(key, 0, value) })
}

// TrueAttribute returns the index of an attribute with the value true.
func (b *Builder) TrueAttribute(key string) int32 {
	return b.attribute(key, func(key int32) int32 { return b.dict.BoolAttribute(key, 0, true) })
}

func (b *Builder) attribute(key string, add func(key int32) int32) int32 {
	b.need(dictionary.AttributeBytes + int64(len(key)))
	if b.err != nil {
		return 0
	}
	return add(b.dict.String(key))
}
