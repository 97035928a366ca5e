// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package jfr

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
)

// TestMemory checks that all memory is reserved, for recordings of which one part is large.
func TestMemory(t *testing.T) {
	for name, change := range map[string]func(r *jfrtest.Recording){
		"stacks": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000+i, 1, r.Stack(false, jfrtest.Frame{Method: 1, Line: i, Type: 1}, jfrtest.Frame{Method: 2, Line: i, Type: 0}), 1, jfrtest.Context{})
			}
		},
		"deep stacks": func(r *jfrtest.Recording) {
			for i := range uint64(200) {
				frames := slices.Repeat([]jfrtest.Frame{{Method: 1, Line: i}}, 2000)
				r.ExecutionSample(1000, 1, r.Stack(false, frames...), 1, jfrtest.Context{})
			}
		},
		"unused stacks": func(r *jfrtest.Recording) {
			for i := range uint64(50_000) {
				r.Stack(false, jfrtest.Frame{Method: i})
			}
		},
		"methods": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				name := string(numbers(i+1<<20)) + "name"
				r.ExecutionSample(1000, 1, r.Stack(false, jfrtest.Frame{Method: r.Method(name, name), Line: i}), 1, jfrtest.Context{})
			}
		},
		"threads": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000, r.Thread("t", i+1, i+1), 1, 1, jfrtest.Context{})
			}
		},
		"spans": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				r.ExecutionSample(1000, 1, 1, 1, jfrtest.Context{Span: i + 1, TraceLow: i + 1})
			}
		},
		"events": func(r *jfrtest.Recording) {
			for i := range uint64(100_000) {
				r.ExecutionSample(1000+i, 1, 1, 1, jfrtest.Context{})
				r.Event(jfrtest.ClassMalloc, 1000+i, 1, 1, 5, 6)
			}
		},
		"latin1": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				text := append([]byte(strings.Repeat("\xe4", 100)), numbers(i+1<<20)...)
				r.Constant(jfrtest.ClassSymbol, append(jfrtest.AppendLong([]byte{5}, uint64(len(text))), text...))
			}
		},
		"UTF-16": func(r *jfrtest.Recording) {
			for i := range uint64(20_000) {
				text := slices.Repeat([]byte{'x'}, 100)
				r.Constant(jfrtest.ClassSymbol, append(jfrtest.AppendLong([]byte{4}, uint64(len(text))+1), append(text, numbers(i+1<<10)...)...))
			}
		},
		"classes": func(r *jfrtest.Recording) {
			for i := range 5000 {
				r.Classes = append(r.Classes, jfrtest.Class{ID: 1000 + i, Name: "n" + string(rune('a'+i)), Fields: class(r, jfrtest.ClassMalloc).Fields})
			}
		},
		"fields": func(r *jfrtest.Recording) {
			fields := slices.Repeat([]jfrtest.Field{{Name: "field", Class: jfrtest.ClassLong}}, 250)
			for i := range 400 {
				r.Classes = append(r.Classes, jfrtest.Class{ID: 1000 + i, Name: "n" + string(rune('a'+i)), Fields: fields})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.Example()
			change(r)
			recording := r.Bytes()
			checkMemory(t, recording, nil)
			checkRefusal(t, recording)
		})
	}
	t.Run("chunks", func(t *testing.T) { checkMemory(t, bytes.Repeat(jfrtest.Example().Bytes(), 500), nil) })
	t.Run("gzip", func(t *testing.T) { checkMemory(t, gz(t, bytes.Repeat(jfrtest.Example().Bytes(), 500)), nil) })
}

// checkMemory translates a recording, and compares what was allocated with what was reserved.
func checkMemory(tb testing.TB, recording, labels []byte) {
	tb.Helper()
	reserved := int64(0)
	decoder := NewDecoder(Options{})
	var err error
	allocated := allocations(func() {
		_, _, err = decoder.Decode(recording, Source{Labels: labels, Reserve: func(bytes int64) error {
			if bytes < reserved {
				tb.Error("the number falls")
			}
			reserved = bytes
			return nil
		}})
	})
	if err != nil && !isOfRecording(err) {
		tb.Fatal(err)
	}
	// The decoder allocates some memory for every recording, before it has read any of it.
	if allocated > uint64(reserved)+fixedBytes {
		tb.Fatalf("allocated %d bytes, reserved %d", allocated, reserved)
	}
}

// checkRefusal checks that memory is reserved before it is allocated, wherever a refusal comes.
func checkRefusal(tb testing.TB, recording []byte) {
	tb.Helper()
	refused := errors.New("refused")
	for limit := int64(1 << 20); ; limit *= 2 {
		var err error
		allocated := allocations(func() {
			_, _, err = NewDecoder(Options{}).Decode(recording, Source{Reserve: func(bytes int64) error {
				if bytes > limit {
					return refused
				}
				return nil
			}})
		})
		if allocated > uint64(limit)+fixedBytes {
			tb.Fatalf("allocated %d bytes, the limit was %d", allocated, limit)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, refused) {
			tb.Fatal(err)
		}
	}
}

// fixedBytes is what every translation allocates.
const fixedBytes = 1 << 20
