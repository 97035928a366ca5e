// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anySize has limits that no payload in these tests exceeds.
var anySize = NoLimits()

// proto is a protobuf message. It is written with protowire, so that the tests do not depend on the code under test.
type proto []byte

func (m proto) number(field protowire.Number, v uint64) proto {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m proto) numbers(field protowire.Number, values ...uint64) proto {
	for _, v := range values {
		m = m.number(field, v)
	}
	return m
}

func (m proto) packed(field protowire.Number, values ...uint64) proto {
	var content []byte
	for _, v := range values {
		content = protowire.AppendVarint(content, v)
	}
	return m.message(field, content)
}

func (m proto) message(field protowire.Number, content proto) proto {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), content)
}

func (m proto) strings(table ...string) proto {
	for _, s := range table {
		m = m.message(6, proto(s))
	}
	return m
}

func (m proto) fixed64(field protowire.Number) proto {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), math.MaxUint64)
}

func (m proto) fixed32(field protowire.Number) proto {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.MaxUint32)
}

func (m proto) raw(b ...byte) proto { return append(m, b...) }

// with returns a copy of m with other appended.
func (m proto) with(other proto) proto { return append(append(proto{}, m...), other...) }

// content is the content of the tables, without the state of the reader.
type content struct {
	Profile
	Strings []string
}

// read reads raw with a new reader.
func read(t require.TestingT, raw []byte) content {
	var p Profile
	require.NoError(t, p.Read(raw, anySize))
	return contentOf(&p)
}

// contentOf copies the tables; empty ones are nil.
func contentOf(p *Profile) content {
	c := content{Profile: *p}
	for i := range p.NumStrings() {
		c.Strings = append(c.Strings, string(p.String(uint32(i))))
	}
	c.raw, c.strings, c.Repeats, c.repeats, c.finder = nil, nil, nil, nil, nil
	c.total, c.counted, c.stringBytes = counts{}, false, 0
	c.SampleTypes, c.Samples = copied(p.SampleTypes), copied(p.Samples)
	c.LocationIDs, c.Values, c.Labels = copied(p.LocationIDs), copied(p.Values), copied(p.Labels)
	c.Mappings, c.Functions, c.Comments = copied(p.Mappings), copied(p.Functions), copied(p.Comments)
	c.Locations, c.Lines = copied(p.Locations), copied(p.Lines)
	return c
}

func copied[T any](s []T) []T { return append([]T(nil), s...) }
