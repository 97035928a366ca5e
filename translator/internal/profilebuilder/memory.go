// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder

import (
	"slices"
	"unsafe"
)

// reservation counts the memory that the builder has reserved, in bytes.
type reservation struct {
	reserve func(bytes int64) error
	// inflated is the size of the decompressed payload. message is the size of the message without its dictionary.
	// working is the size of the memory of readers and profiles. requested is the largest total that reserve was called
	// with.
	inflated, message, working, requested int64
	// work estimates the work since reserve was last called, in bytes.
	work int64
}

// The work after which the builder calls reserve again, and the work of a call of [Builder.Reserve] beside its bytes. The caller of
// Decode can end the translation then.
const (
	workPerCall   = 256 << 10
	workOfReserve = 256
)

// reserveTotal reserves memory up to a total of this many bytes.
func (r *reservation) reserveTotal(total int64) error {
	if r.reserve == nil || total <= r.requested {
		return nil
	}
	r.requested = total
	return r.reserve(total)
}

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

// Reserve reserves this many bytes in addition to all memory that was added and kept. Call it before allocating the
// memory.
func (b *Builder) Reserve(bytes int64) {
	r := &b.reserved
	if r.reserve == nil || b.err != nil {
		return
	}
	if total := baseBytes + r.inflated + r.message + r.working + growth*b.dict.Bytes() + bytes; total > r.requested {
		// Entries are added one by one. Reserve memory in larger steps.
		b.Fail(r.reserveTotal(total + 16<<10 + total/16))
	}
	b.Advance(bytes + workOfReserve)
}

// Advance counts bytes that were read, or as much other work. A reader calls it where it can read much without adding anything.
func (b *Builder) Advance(bytes int64) {
	if b.reserved.work += bytes; b.reserved.work >= workPerCall {
		_ = b.Continue() // The builder keeps the error.
	}
}

// Continue calls reserve, although no more memory is needed, and returns the first error of the builder.
func (b *Builder) Continue() error {
	r := &b.reserved
	if r.work = 0; r.reserve != nil && b.err == nil {
		b.err = r.reserve(r.requested)
	}
	return b.err
}

// Keep reserves this many bytes until Finish. A reader calls it for memory that it uses in addition to its lists, and for
// garbage that it leaves.
func (b *Builder) Keep(bytes int64) { b.keep(0, bytes) }

// keep reserves bytes of the message, and working memory of the builder, until Finish.
func (b *Builder) keep(message, working int64) {
	b.Reserve(message + working)
	b.reserved.message += message
	b.reserved.working += working
}

// Append appends items to a list that a reader keeps, and reserves the memory first. On an error it returns the list
// unchanged.
func Append[T any](b *Builder, list []T, items ...T) []T {
	if free := cap(list) - len(list); free < len(items) {
		if list = Grow(b, list, max(len(items), len(list), 16)); b.err != nil {
			return list
		}
	}
	return append(list, items...)
}

// Grow increases the capacity of a list by so many items, and reserves the memory first. On an error it returns the list
// unchanged.
func Grow[T any](b *Builder, list []T, more int) []T {
	if cap(list)-len(list) >= more {
		return list
	}
	// The list is copied to a larger one. Size classes round it up.
	b.keep(0, int64(more)*int64(unsafe.Sizeof(*new(T)))*5/2)
	if b.err != nil {
		return list
	}
	return slices.Grow(list, more)
}

// Sizes in bytes: of an empty message with its builder, of a profile, and of a sample, its attributes and its events. The
// Table sizes are for the tables of a profile while they grow.
const (
	baseBytes         = 8 << 10
	profileBytes      = 512
	profileTableBytes = 4 << 10

	sampleBytes         = 8 + 96 + 24 + 12
	sampleTableBytes    = 5*(8+8+8) + 48
	attributeBytes      = 4
	attributeTableBytes = 5 * 4
	eventBytes          = 16
	eventTableBytes     = 5 * 24
)
