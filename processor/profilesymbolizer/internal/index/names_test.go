// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

func TestDemangle(t *testing.T) {
	b := newBuilder(t)
	for system, want := range map[string]string{
		"_ZN3app6Worker4stepEj":                          "app::Worker::step(unsigned int)",
		"_RNvC6_123foo3bar":                              "123foo::bar",
		"_ZN4core3fmt9Formatter3new17h0123456789abcdefE": "core::fmt::Formatter::new",
		"main":     "main",
		"main.f":   "main.f",
		"_Zbroken": "_Zbroken",
	} {
		number := b.Linked(system, "", 0)
		names := read(t, clone(b)).Names(Frame{Function: number})
		assert.Equal(t, want, string(names.Name))
		assert.Equal(t, system, string(names.SystemName))
	}
	number := b.Linked("_Zbroken2", "readable", 0)
	assert.Equal(t, "readable", string(read(t, b).Names(Frame{Function: number}).Name))
}

// A name that takes the demangler too long stays as it is, and many names let the meter end the work.
func TestDemangleEnds(t *testing.T) {
	const limit = 100
	reservations := 0
	errLimit := errors.New("limit")
	b := newBuilder(t)
	b.memory = meter.New(0, func(int64) error {
		if reservations++; reservations > limit {
			return errLimit
		}
		return nil
	})
	long := "_Z1f" + strings.Repeat("P", maxMangled) + "i"
	number := b.Linked(long, "", 0)
	assert.Equal(t, long, string(read(t, clone(b)).Names(Frame{Function: number}).Name))
	for i := 0; b.Err() == nil && i < 2*limit; i++ {
		b.Linked(fmt.Sprintf("_Z4f%03dv", i), "", 0)
	}
	require.ErrorIs(t, b.Err(), errLimit)
}

// clone returns a builder that can be written without an end of the other one.
func clone(b *Builder) *Builder {
	c := *b
	return &c
}
