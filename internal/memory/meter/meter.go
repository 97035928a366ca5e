// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package meter counts the memory that a piece of work uses, and reserves it in steps before it is allocated.
package meter // import "github.com/otelpprof/otelpprof/internal/memory/meter"

// Meter counts the memory of one piece of work, in bytes. The zero value counts without a limit, nil counts nothing. Not safe for
// concurrent use.
type Meter struct {
	// reserve is called with the total. It can be nil.
	reserve func(total int64) error
	// used is in use until [Meter.Set] or a negative [Meter.Use] reduces it. granted is the largest total that was reserved.
	used, granted int64
	// beside returns what is in use beside that. It can be nil.
	beside func() int64
	// done is the work since reserve was last called, in bytes.
	done int64
	// err is the first error. The work must end then.
	err error
}

// New returns a meter of work that already uses this many bytes. reserve gets the total number of bytes before they are allocated. If
// it is nil, there is no limit.
func New(used int64, reserve func(total int64) error) *Meter {
	return &Meter{reserve: reserve, used: used, granted: used}
}

// Need reserves this many bytes beside those in use. Call it before allocating them. After an error, each call returns that error.
func (m *Meter) Need(bytes int64) error {
	if m == nil {
		return nil
	}
	if m.reserve == nil || m.err != nil {
		return m.err
	}
	total := m.total(bytes)
	if total <= m.granted {
		return nil
	}
	// Many callers add one entry at a time. Larger steps make reservations rare.
	return m.grow(total + 16<<10 + total/16)
}

// Beside adds what bytes returns to each total. It is for memory whose size is known at any time, such as that of tables.
func (m *Meter) Beside(bytes func() int64) { m.beside = bytes }

// total returns what is in use and this many bytes.
func (m *Meter) total(bytes int64) int64 {
	if m.beside != nil {
		bytes += m.beside()
	}
	return m.used + bytes
}

// grow asks for this many bytes in all.
func (m *Meter) grow(total int64) error {
	m.done = 0
	if m.err = m.reserve(total); m.err == nil {
		m.granted = total
	}
	return m.err
}

// Use is Need for bytes that stay in use.
func (m *Meter) Use(bytes int64) error {
	err := m.Need(bytes)
	if err == nil && m != nil {
		m.used += bytes
	}
	return err
}

// workPerCall is the work after which [Meter.Advance] calls reserve.
const workPerCall = 256 << 10

// Advance counts bytes that were read, or as much other work. From time to time it calls [Meter.Continue]. Work that reads much and
// reserves little must call it.
func (m *Meter) Advance(bytes int64) error {
	if m == nil {
		return nil
	}
	if m.done += bytes; m.done >= workPerCall {
		return m.Continue()
	}
	return m.err
}

// Continue calls reserve although no more memory is needed, so that the caller can end the work by an error.
func (m *Meter) Continue() error { return m.Reserve(0) }

// Reserve reserves this many bytes beside those in use, for the work of another meter, which reserves in steps. It always lets the caller end
// the work.
func (m *Meter) Reserve(bytes int64) error {
	if m == nil || m.reserve == nil || m.err != nil {
		return m.Err()
	}
	return m.grow(max(m.granted, m.total(bytes)))
}

// Used returns the number of bytes in use.
func (m *Meter) Used() int64 { return m.used }

// Set reduces the bytes in use to this number, because the rest is garbage. They stay reserved.
func (m *Meter) Set(used int64) { m.used = min(m.used, used) }

// Fail sets the error, unless there is one.
func (m *Meter) Fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Err returns the first error.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}

// Clear forgets the error, because the work that needed the memory was given up.
func (m *Meter) Clear() { m.err = nil }
