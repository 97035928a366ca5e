// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"slices"
	"unsafe"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// workOfNeed is the work of a call of [Builder.need] beside its bytes.
const workOfNeed = 256

// Upper bounds, in bytes, for what one new entry adds to the builder and the message before the dictionary counts it.
// They include the growth of tables.
const (
	entryBytes    = 512
	lineBytes     = 192
	frameBytes    = 16
	listItemBytes = 32
	textFactor    = 4
)

// growth is the factor by which the memory of the dictionary can exceed its size while its tables grow.
const growth = 2

// need is [meter.Meter.Need] beside the dictionary and what is in use.
func (b *Builder) need(bytes int64) {
	if b.src.Reserve == nil {
		return
	}
	if b.err == nil {
		b.fail(b.meter.Need(growth*b.dict.Bytes() + bytes))
	}
	b.Advance(bytes + workOfNeed)
}

// Advance counts bytes that were read, or as much other work. A reader calls it where it can read much without adding anything. The
// caller of Decode can end the translation then.
func (b *Builder) Advance(bytes int64) {
	if b.err == nil {
		b.fail(b.meter.Advance(bytes))
	}
}

// continueWork lets the caller of Decode end the translation, and returns the first error of the builder.
func (b *Builder) continueWork() error {
	if b.err == nil {
		b.fail(b.meter.Continue())
	}
	return b.err
}

// Use is for memory of the message, the builder and the reader, garbage included, until Decode returns.
func (b *Builder) Use(bytes int64) {
	b.need(bytes)
	if b.err == nil {
		b.fail(b.meter.Use(bytes))
	}
}

// Append appends items to a list that a reader keeps, if there is memory. On an error it returns the list unchanged.
func Append[T any](b *Builder, list []T, items ...T) []T {
	if free := cap(list) - len(list); free < len(items) {
		if list = Grow(b, list, max(len(items), len(list), 16)); b.err != nil {
			return list
		}
	}
	return append(list, items...)
}

// Grow increases the capacity of a list by so many items, if there is memory. On an error it returns the list unchanged.
func Grow[T any](b *Builder, list []T, more int) []T {
	if cap(list)-len(list) >= more {
		return list
	}
	// The list is copied to a larger one. Size classes round it up.
	b.Use(int64(more) * int64(unsafe.Sizeof(*new(T))) * 5 / 2)
	if b.err != nil {
		return list
	}
	return slices.Grow(list, more)
}

// Sizes in bytes: of an empty message with its builder, of a profile, and of a sample, its attributes and its events. They are in the message,
// and in tables of the profile while those grow.
const (
	baseBytes      = 8 << 10
	profileBytes   = 256 + 2<<10
	sampleBytes    = dictionary.SampleMemory + 24 + 12 + 5*(8+8+8) + 48 + message.SampleBytes
	attributeBytes = 4 + 5*4
	eventBytes     = 16 + 5*24 + message.EventBytes
)
