// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// tableState has the state of the entries of one table. The representative of an entry is the first entry that is equal
// to it, or a number below zero if the entry is invalid.
type tableState struct {
	name  string
	first []int32
	used  []bool
	// referred is true for each entry to which another entry refers, whether that is used or not.
	referred []bool
	to       []int32
	kept     int
	// twice is true if an entry is equal to an earlier one.
	twice bool
	// faults has the errors of invalid entries. If there are many, an entry with the same kind of error as entry j has
	// -1-j as its representative instead: an error for each of a million entries would need more memory than the message.
	faults map[int32]error
	// kinds has one entry of faults for each kind of error.
	kinds map[reflect.Type]int32
}

// maxFaults is the approximate maximum of errors for each table.
const maxFaults = 100

func (c *tableState) reset(name string, n int) {
	c.name, c.twice = name, false
	n = max(n, 1)
	c.first = scratch.Zeroed(c.first, n)
	c.used = scratch.Zeroed(c.used, n)
	c.referred = scratch.Zeroed(c.referred, n)
	c.to = scratch.Zeroed(c.to, n)
	clear(c.faults)
	clear(c.kinds)
}

// find returns the representative of entry i. It is below zero if the entry is invalid or does not exist.
func (c *tableState) find(i int32) int32 {
	if uint(i) >= uint(len(c.first)) || i < 0 {
		return -1
	}
	return c.first[i]
}

// get is find for a reference of another entry. It returns 0 and sets err, unless that is set, if the entry is invalid or does not exist.
func (c *tableState) get(i int32, err *error) int32 {
	first := c.find(i)
	if first < 0 {
		*err, first = cmp.Or(*err, c.fault(i)), 0
	}
	return first
}

// fault returns the error of an entry for which find returned a number below zero.
func (c *tableState) fault(i int32) error {
	if i < 0 || int(i) >= len(c.first) {
		return &IndexError{Table: c.name, Index: i, Len: len(c.first)}
	}
	if err, kept := c.faults[i]; kept {
		return err
	}
	return fmt.Errorf("%s %d is invalid like %w", c.name, i, c.faults[-1-c.first[i]])
}

func (c *tableState) setInvalid(i int, err error) {
	if c.faults == nil {
		c.faults, c.kinds = map[int32]error{}, map[reflect.Type]int32{}
	}
	kind := kindOf(err)
	like, known := c.kinds[kind]
	if known && len(c.faults) >= maxFaults {
		c.first[i] = -1 - like
		return
	}
	if !known {
		c.kinds[kind] = int32(i)
	}
	c.faults[int32(i)] = fmt.Errorf("%s %d: %w", c.name, i, err)
	c.first[i] = -1
}

// kindOf returns the type of the innermost error that err wraps.
func kindOf(err error) reflect.Type {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return reflect.TypeOf(err)
		}
		err = cause
	}
}

// use marks entry i as used.
func (c *tableState) use(i int32) error {
	first := c.find(i)
	if first < 0 {
		return c.fault(i)
	}
	c.used[first] = true
	return nil
}

// number assigns the new indices of the remaining entries. It reports whether any entry is removed, and whether any index
// changes.
func (c *tableState) number() (changed, renumbered bool) {
	c.used[0] = true
	c.kept = 0
	for i, first := range c.first {
		switch {
		case first == int32(i) && c.used[i]:
			c.to[i] = int32(c.kept)
			renumbered = renumbered || c.kept != i
			c.kept++
		case first >= 0 && first < int32(i):
			c.to[i] = c.to[first]
			changed, renumbered = true, true
		default:
			changed = true
		}
	}
	return changed, renumbered
}
