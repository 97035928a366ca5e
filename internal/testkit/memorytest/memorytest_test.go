// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package memorytest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// recorder counts the errors of a test.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

// sink keeps the compiler from leaving out allocations.
var sink []byte

func TestCheck(t *testing.T) {
	const size = 8 << 20
	reserving := func(totals ...int64) Work {
		return func(reserve func(int64) error) error {
			for _, total := range totals {
				if err := reserve(total); err != nil {
					return err
				}
			}
			sink = make([]byte, size)
			return nil
		}
	}
	for name, test := range map[string]struct {
		work  Work
		fails bool
	}{
		"exact":         {reserving(size), false},
		"three times":   {reserving(size, 3*size), false},
		"four times":    {reserving(4 * Words * size), true},
		"too little":    {reserving(size / 2), true},
		"falling total": {reserving(size, size-1), true},
		"too late": {func(reserve func(int64) error) error {
			sink = make([]byte, size)
			return reserve(size)
		}, true},
		"no end": {func(reserve func(int64) error) error {
			if reserve(size) == nil {
				sink = make([]byte, size)
			}
			return nil
		}, true},
		"another error": {func(reserve func(int64) error) error {
			if reserve(size) != nil {
				return errors.New("other")
			}
			sink = make([]byte, size)
			return nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			Check(r, test.work)
			assert.Equal(t, test.fails, r.errors > 0)
		})
	}
}

func TestCheckHeld(t *testing.T) {
	const size = 1 << 20
	for reserved, fails := range map[int64]bool{size / 2: true, size: false, 3 * Words * size: false, 4 * Words * size: true} {
		r := &recorder{TB: t}
		CheckHeld(r, Most, 4, func() ([]byte, int64) { return make([]byte, size), reserved })
		assert.Equal(t, fails, r.errors > 0, "%d bytes", reserved)
	}
}
