// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// rules translate the entries of a pprof without changes.
type rules struct{ *decoding }

var _ tables.Rules = rules{}

func (r rules) Text(i uint32) []byte { return r.text(i) }

func (r rules) TextAttribute(key int32, i uint32) int32 { return r.textAttribute(key, i) }

func (r rules) Function(from *pprofwire.Function) dictionary.Function {
	return dictionary.Function{
		Name:       r.tables.String(from.Name),
		SystemName: r.tables.String(from.SystemName),
		Filename:   r.tables.String(from.Filename),
		StartLine:  from.StartLine,
	}
}

func (r rules) Line(from *pprofwire.Line, function int32) dictionary.Line {
	return dictionary.Line{Function: function, Line: from.Line, Column: from.Column}
}

func (r rules) LocationAttributes(attributes []int32, _ *pprofwire.Function) []int32 {
	return attributes
}
