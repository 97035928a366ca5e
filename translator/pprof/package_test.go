// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asInPprof has the rules of OTLP, without those that valid pprofs can violate.
var asInPprof = profiletest.CheckOptions{AllowNegativeLines: true, AllowNamelessFunctions: true}

// payload builds a pprof for a test, including ones that google/pprof would not write.
type payload struct {
	table []string
	body  []byte
}

// newPayload returns a payload with sample types such as "cpu/nanoseconds".
func newPayload(types ...string) *payload {
	p := &payload{table: []string{""}}
	for _, t := range types {
		p.body = pprofwire.AppendSampleType(p.body, p.valueType(t))
	}
	return p
}

// text returns the index of a string. Equal strings have the same index.
func (p *payload) text(s string) uint32 {
	for i := range p.table {
		if p.table[i] == s {
			return uint32(i)
		}
	}
	return p.add(s)
}

// add adds a string to the table, even if it is in the table.
func (p *payload) add(s string) uint32 {
	p.table = append(p.table, s)
	return uint32(len(p.table) - 1)
}

func (p *payload) valueType(t string) pprofwire.ValueType {
	name, unit, _ := strings.Cut(t, "/")
	return pprofwire.ValueType{Type: p.text(name), Unit: p.text(unit)}
}

// label has either str or num. isStr tells which, since both can be empty.
type label struct {
	key, str string
	isStr    bool
	num      int64
	unit     string
}

func str(key, value string) label { return label{key: key, str: value, isStr: true} }

func num(key string, value int64, unit string) label { return label{key: key, num: value, unit: unit} }

// sample adds a sample with one value for each sample type.
func (p *payload) sample(locations []uint32, values []int64, labels ...label) *payload {
	var ids, written []byte
	for _, id := range locations {
		ids = pprofwire.AppendID(ids, id)
	}
	for _, l := range labels {
		wire := pprofwire.Label{Key: p.text(l.key), Num: l.num, NumUnit: p.text(l.unit)}
		switch {
		case l.isStr && l.str == "":
			wire.Str = p.add("") // index 0 means no string
		case l.isStr:
			wire.Str = p.text(l.str)
		}
		written = pprofwire.AppendLabel(written, wire)
	}
	p.body = pprofwire.AppendSample(p.body, ids, values, written)
	return p
}

// code adds functions leaf, middle and root, each with its own location, 1 to 3.
func (p *payload) code() *payload {
	for i, name := range []string{"leaf", "middle", "root"} {
		id := uint64(i + 1)
		p.function(pprofwire.Function{ID: id, Name: p.text(name)})
		p.location(pprofwire.Location{ID: id}, pprofwire.Line{FunctionID: id})
	}
	return p
}

func (p *payload) function(f pprofwire.Function) *payload {
	p.body = pprofwire.AppendFunction(p.body, f)
	return p
}

func (p *payload) location(l pprofwire.Location, lines ...pprofwire.Line) *payload {
	p.body = pprofwire.AppendLocation(p.body, l, lines)
	return p
}

func (p *payload) mapping(m pprofwire.Mapping) *payload {
	p.body = pprofwire.AppendMapping(p.body, m)
	return p
}

func (p *payload) period(t string) *payload {
	p.body = pprofwire.AppendPeriodType(p.body, p.valueType(t))
	return p
}

func (p *payload) header(h pprofwire.Header) *payload {
	p.body = pprofwire.AppendHeader(p.body, h)
	return p
}

// bytes returns the pprof.
func (p *payload) bytes() []byte {
	raw := append([]byte(nil), p.body...)
	for _, s := range p.table {
		raw = pprofwire.AppendString(raw, s)
	}
	return raw
}
