// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package summary reads what a pprof measures: its sample types and its period type. It does not read samples.
package summary // import "github.com/otelpprof/otelpprof/exporter/internal/summary"

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/gaugetypes"
)

// The fields of profile.proto that are read.
const (
	fieldSampleType = 1
	fieldFunction   = 5
	fieldString     = 6
	fieldPeriodType = 11
)

// fieldStartLine is a field of a function.
const fieldStartLine = 5

// maxSampleTypes limits the memory. No profiler has as many.
const maxSampleTypes = 256

// Type is a sample type and its unit.
type Type struct{ Name, Unit string }

// IsGauge reports whether values of this type are a state at a point in time. A sum of such values over time has no meaning.
func (t Type) IsGauge() bool { return gaugetypes.IsDefault(t.Name, t.Unit) }

// Head has the fields of a pprof that say what it measures.
type Head struct {
	// Types are the sample types, in the order of the pprof.
	Types []Type
	// Period is the period type.
	Period Type
	// StartLines reports whether any function has a start line.
	StartLines bool
}

// PGO reports whether go build accepts the pprof for optimisation.
func (h *Head) PGO() bool { return h.CPU() && h.StartLines }

// CPU reports whether the pprof is a CPU profile, as go build accepts it: its values are CPU time, or numbers of samples
// that were taken per CPU time.
func (h *Head) CPU() bool {
	cpu := Type{"cpu", "nanoseconds"}
	return slices.Contains(h.Types, cpu) || h.Period == cpu && slices.Contains(h.Types, Type{"samples", "count"})
}

// Of reads the head of an uncompressed pprof.
func Of(pprof []byte) (Head, error) {
	var indices [][2]uint64
	var period [2]uint64
	texts := 0
	startLines := false
	for rest := pprof; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return Head{}, fmt.Errorf("cannot read the head of a pprof: %w", protowire.ParseError(n))
		}
		rest = rest[n:]
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return Head{}, fmt.Errorf("cannot read the head of a pprof: %w", protowire.ParseError(n))
		}
		switch {
		case number == fieldString:
			texts++
		case number == fieldSampleType && kind == protowire.BytesType:
			if len(indices) == maxSampleTypes {
				return Head{}, fmt.Errorf("cannot read the head of a pprof: more than %d sample types", maxSampleTypes)
			}
			message, _ := protowire.ConsumeBytes(rest)
			indices = append(indices, readIndices(message))
		case number == fieldFunction && kind == protowire.BytesType && !startLines:
			message, _ := protowire.ConsumeBytes(rest)
			startLines = hasStartLine(message)
		case number == fieldPeriodType && kind == protowire.BytesType:
			message, _ := protowire.ConsumeBytes(rest)
			period = readIndices(message)
		}
		rest = rest[n:]
	}
	types, err := resolve(pprof, append(indices, period), texts)
	if err != nil {
		return Head{}, err
	}
	return Head{Types: types[:len(indices)], Period: types[len(indices)], StartLines: startLines}, nil
}

// readIndices reads a message whose fields 1 and 2 are indices of strings.
func readIndices(message []byte) (indices [2]uint64) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return indices
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return indices
		}
		if (number == 1 || number == 2) && kind == protowire.VarintType {
			indices[number-1], _ = protowire.ConsumeVarint(message)
		}
		message = message[n:]
	}
	return indices
}

// hasStartLine reports whether a function has a start line.
func hasStartLine(function []byte) bool {
	for len(function) > 0 {
		number, kind, n := protowire.ConsumeField(function)
		if n < 0 {
			return false
		}
		if number == fieldStartLine && kind == protowire.VarintType {
			line, _ := protowire.ConsumeVarint(function[protowire.SizeTag(number):])
			return int64(line) > 0
		}
		function = function[n:]
	}
	return false
}

var errNoString = errors.New("cannot read the head of a pprof: the string of a type does not exist")

// resolve looks up the strings, which may be anywhere in the pprof.
func resolve(pprof []byte, indices [][2]uint64, texts int) ([]Type, error) {
	wanted := make(map[uint64]string, 2*len(indices))
	for _, pair := range indices {
		for _, index := range pair {
			if index >= uint64(texts) && index != 0 {
				return nil, errNoString
			}
			wanted[index] = ""
		}
	}
	at := uint64(0)
	for rest := pprof; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		rest = rest[n:]
		if number == fieldString {
			if _, found := wanted[at]; found && kind == protowire.BytesType {
				text, _ := protowire.ConsumeBytes(rest)
				wanted[at] = string(text)
			}
			at++
		}
		rest = rest[protowire.ConsumeFieldValue(number, kind, rest):]
	}
	types := make([]Type, len(indices))
	for i, pair := range indices {
		types[i] = Type{Name: wanted[pair[0]], Unit: wanted[pair[1]]}
	}
	return types, nil
}
