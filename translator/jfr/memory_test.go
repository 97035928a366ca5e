// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
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
		"settings": func(r *jfrtest.Recording) {
			for i := range uint64(50_000) {
				r.SettingAt(1000+i, jfrtest.ClassExecutionSample, "interval", []string{"1", "2"}[i%2])
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
			memorytest.Check(t, translating(r.Bytes(), nil))
		})
	}
	t.Run("chunks", func(t *testing.T) {
		memorytest.Check(t, translating(bytes.Repeat(jfrtest.Example().Bytes(), 500), nil))
	})
	t.Run("original payload", func(t *testing.T) {
		options := Options{IncludeOriginalPayload: true}
		memorytest.Check(t, translatingWith(options, bytes.Repeat(jfrtest.Example().Bytes(), 500), nil))
	})
	t.Run("gzip", func(t *testing.T) {
		memorytest.Check(t, translating(profiletest.Gzip(t, bytes.Repeat(jfrtest.Example().Bytes(), 500)), nil))
	})
}

// translating returns the translation of a recording.
func translating(recording, labels []byte) memorytest.Work {
	return translatingWith(Options{}, recording, labels)
}

func translatingWith(options Options, recording, labels []byte) memorytest.Work {
	return func(reserve func(int64) error) error {
		_, _, err := NewDecoder(options).Decode(recording, Source{Source: pprof.Source{Reserve: reserve}, Labels: labels})
		return err
	}
}
