// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// rules translate the entries of a pprof: they remove placeholders for unknown values, and add frame types.
type rules struct{ *decoding }

var _ tables.Rules = rules{}

func (r rules) Text(i uint32) []byte { return r.valid(r.wire.String(i)) }

func (r rules) AddText(key int32, i uint32) (attribute int32, added bool) {
	if !r.need(dictionary.AttributeBytes + 3*int64(len(r.wire.String(i)))) {
		return 0, false
	}
	return r.dict.StringBytesAttribute(key, 0, r.Text(i)), true
}

func (r rules) Function(from *pprofwire.Function) dictionary.Function {
	function := dictionary.Function{Name: r.tables.String(from.Name), StartLine: max(from.StartLine, 0)}
	if from.Filename != 0 && !isNoFile(r.wire.String(from.Filename)) {
		function.Filename = r.tables.String(from.Filename)
	}
	if system := r.tables.String(from.SystemName); system != function.Name {
		function.SystemName = system
	}
	if function.Name == 0 && function.SystemName == 0 && function.Filename == 0 {
		function.Name = r.dict.String(anonymousFunction)
	}
	return function
}

func (r rules) Line(from *pprofwire.Line, function int32) dictionary.Line {
	return dictionary.Line{Function: function, Line: max(from.Line, 0), Column: max(from.Column, 0)}
}

func (r rules) LocationAttributes(attributes []int32, leaf *pprofwire.Function) []int32 {
	if leaf == nil {
		return attributes
	}
	if frameType := r.frameType(isNative(r.optional(leaf.Name), r.optional(leaf.Filename))); frameType >= 0 {
		attributes = append(attributes, frameType)
	}
	return attributes
}
