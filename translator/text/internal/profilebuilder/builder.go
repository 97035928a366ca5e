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
	"slices"
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
	// frames counts the frames of all added stacks, repeated stacks included.
	frames int
	names  javaframe.Normalizer
	// longestName is the length of the longest name that was normalized. The normalizer has a copy.
	longestName int
	err         error
}

// Decode calls read with a new Builder and the decompressed payload, and returns the message that read has built. If the payload is
// not compressed, read gets payload itself. On an error, the message is empty. format is the original_payload_format.
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

// fail sets the error of the builder, unless it has one.
func (b *Builder) fail(err error) {
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

// maxShown limits how many bytes of a text of the payload an error quotes.
const maxShown = 64

// Failf sets [text.ErrMalformed] with a description of the fault as the error, unless there is one. Texts of the payload must be []byte: of
// a long one, only the begin is quoted.
func (b *Builder) Failf(format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.([]byte); ok { // fmt copies all of it, whatever the precision is.
			args[i] = text[:min(len(text), maxShown)]
		}
	}
	b.fail(fmt.Errorf("%w: %s", text.ErrMalformed, fmt.Sprintf(format, args...)))
}

// checkLimit sets [text.ErrTooLarge] as the error if a number is above a limit.
func (b *Builder) checkLimit(what string, got, limit int) {
	if got > limit {
		b.tooLarge(what, got, limit)
	}
}

// tooLarge stands apart so that checkLimit is inlined.
func (b *Builder) tooLarge(what string, got, limit int) {
	b.fail(fmt.Errorf("%w: %s: %d, the limit is %d", text.ErrTooLarge, what, got, limit))
}

// CheckTotal limits work that can be far more than the payload: few bytes can stand for many.
func (b *Builder) CheckTotal(what string, total int) {
	b.checkLimit(what, total, b.options.Limits.InflatedBytes)
}

// statsOfRefused returns the statistics of a payload that was refused.
func (b *Builder) statsOfRefused() pprof.DecodeStats {
	stats := pprof.DecodeStats{InflatedBytes: b.stats.InflatedBytes}
	if b.meter.Err() == nil {
		stats.Begin = bytes.Clone(b.begin)
	}
	return stats
}

// text returns s as valid UTF-8. A text longer than the limit is an error.
func (b *Builder) text(s []byte) []byte {
	b.checkLimit("bytes of a string", len(s), pprof.MaxStringBytes)
	if !utf8.Valid(s) {
		b.stats.Repairs.InvalidUTF8++
		if b.Use(dictionary.ValidFactor * int64(len(s))); b.err != nil {
			return nil
		}
		s = dictionary.ValidText(s)
	}
	b.need(textFactor * int64(len(s)))
	return s
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

// EachLine calls read with each line of a text, without white space at its end, until there is an error. It returns the number of the last line.
func (b *Builder) EachLine(text []byte, read func(line []byte)) (number int) {
	for len(text) > 0 && b.err == nil {
		number++
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		b.Advance(int64(len(line)) + 1)
		if read(bytes.TrimRight(line, " \t\r")); b.err != nil {
			b.AddPosition("line %d", number)
		}
	}
	return number
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
		b.Use(2 * int64(more))
		b.longestName = len(name)
	}
	if b.err != nil {
		return nil
	}
	return b.names.Name(name)
}

// Location returns the index of the location with these lines and attributes. The attributes must be sorted.
func (b *Builder) Location(l dictionary.Location, lines []dictionary.Line, attributes []int32) int32 {
	b.checkLimit("lines of a location", len(lines), pprof.MaxLinesPerLocation)
	b.need(entryBytes + lineBytes*int64(len(lines)) + listItemBytes*int64(len(attributes)))
	if b.err != nil {
		return 0
	}
	return b.dict.Location(l, lines, attributes)
}

// anonymous is the name of functions without a name, as JavaScript engines show them.
const anonymous = "(anonymous)"

// FrameLocation returns the index of the location of a frame without an address.
func (b *Builder) FrameLocation(name, file []byte, line, column int64) int32 {
	if len(name) == 0 {
		name = []byte(anonymous)
	}
	return b.Location(dictionary.Location{}, []dictionary.Line{{Function: b.Function(name, file), Line: line, Column: column}}, nil)
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

// Push appends a location to a stack that a reader collects. A stack that becomes too deep is an error.
func (b *Builder) Push(stack []int32, location int32) []int32 {
	if b.checkLimit("locations of a sample", len(stack)+1, b.options.Limits.LocationsPerSample); b.err != nil {
		return stack
	}
	return Append(b, stack, location)
}

// Stack returns the index of the stack with these locations. They are leaf first, or root first if rootFirst is true.
func (b *Builder) Stack(locations []int32, rootFirst bool) int32 {
	b.frames += len(locations)
	// A small tree or event list can contain many long stacks, and each is copied and hashed.
	b.CheckTotal("locations of all samples", b.frames)
	if b.need(entryBytes + frameBytes*int64(len(locations))); b.err != nil {
		return 0
	}
	stack := b.dict.NextStack(len(locations))
	copy(stack, locations)
	if rootFirst {
		slices.Reverse(stack)
	}
	return b.dict.AddNextStack(len(stack))
}

// StringAttribute returns the index of an attribute with a string value.
func (b *Builder) StringAttribute(key string, value []byte) int32 {
	value = b.text(value)
	return b.attribute(key, func(key int32) int32 { return b.dict.StringBytesAttribute(key, value) })
}

// IntAttribute returns the index of an attribute with an int value.
func (b *Builder) IntAttribute(key string, value int64) int32 {
	return b.attribute(key, func(key int32) int32 { return b.dict.IntAttribute(key, 0, value) })
}

// TrueAttribute returns the index of an attribute with the value true.
func (b *Builder) TrueAttribute(key string) int32 {
	return b.attribute(key, func(key int32) int32 { return b.dict.TrueAttribute(key) })
}

func (b *Builder) attribute(key string, add func(key int32) int32) int32 {
	b.need(dictionary.AttributeBytes + int64(len(key)))
	if b.err != nil {
		return 0
	}
	return add(b.dict.String(key))
}
