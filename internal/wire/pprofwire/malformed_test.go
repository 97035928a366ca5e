// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// requireMalformed reads malformed input. The error must contain each of the texts.
func requireMalformed(t *testing.T, raw []byte, texts ...string) {
	t.Helper()
	var p Profile
	err := p.Read(raw, anySize)
	require.ErrorIs(t, err, ErrMalformed)
	require.NotErrorIs(t, err, ErrTooLarge)
	for _, s := range texts {
		require.ErrorContains(t, err, s)
	}
}

func TestMalformed(t *testing.T) {
	strings := proto{}.strings("", "a")
	for name, test := range map[string]struct {
		raw  proto
		says []string
	}{
		"empty":                      {nil, []string{"empty"}},
		"no string table":            {proto{}.number(12, 1), []string{"no string table"}},
		"two profiles in a row":      {strings.with(proto{}.number(9, 1)).with(strings.with(proto{}.number(9, 2))), []string{"several profiles"}},
		"field 0, a number":          {strings.with(proto{0, 1}), []string{"Profile", "0"}},
		"field 0, bytes":             {strings.with(proto{2, 1, 1}), []string{"Profile", "0"}},
		"field 0 in a sample":        {strings.with(proto{}.message(2, proto{0, 1})), []string{"Sample", "0"}},
		"group":                      {strings.with(proto{0x83, 1, 0}), []string{"field 16 of Profile", "wire type 3"}},
		"end of a group":             {strings.with(proto{}.message(4, proto{9<<3 | 4, 0})), []string{"field 9 of Location", "wire type 4"}},
		"wire type 6":                {strings.with(proto{1<<3 | 6, 0}), []string{"field 1 of Profile", "wire type 6"}},
		"wire type 7 in a label":     {strings.with(proto{}.message(2, proto{}.message(3, proto{7, 0}))), []string{"Label"}},
		"unknown wire type 7":        {strings.with(proto{}.message(5, proto{15<<3 | 7, 0})), []string{"field 15 of Function", "wire type 7"}},
		"length beyond the end":      {strings.with(proto{6<<3 | 2, 5, 'a'}), []string{"field 6 of Profile", "ends"}},
		"length of 2^63":             {strings.with(proto{6<<3 | 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}), []string{"field 6 of Profile", "ends"}},
		"length of 2^64-1":           {strings.with(proto{2<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), []string{"field 2 of Profile", "ends"}},
		"length of 2^32+1":           {strings.with(proto{6<<3 | 2, 0x81, 0x80, 0x80, 0x80, 0x10, 'a', 'b'}), []string{"field 6 of Profile", "ends"}},
		"unknown length beyond":      {strings.with(proto{}.message(3, proto{11<<3 | 2, 2, 'a'})), []string{"field 11 of Mapping", "ends"}},
		"unknown fixed64 cut":        {strings.with(proto{}.message(4, proto{6<<3 | 1, 1, 2, 3, 4, 5, 6, 7})), []string{"field 6 of Location", "ends"}},
		"unknown fixed32 cut":        {strings.with(proto{0x85, 1, 1, 2, 3}), []string{"field 16 of Profile", "ends"}},
		"largest field number":       {strings.with(proto{}.raw(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)), []string{"wire type 7"}},
		"tag longer than need be":    {strings.with(proto{7<<3 | 0x80, 0, 1}), []string{"tag of Profile", "longer"}},
		"tag of a label longer":      {strings.with(proto{}.message(2, proto{}.message(3, proto{1<<3 | 0x80, 0, 1}))), []string{"tag of Label", "longer"}},
		"tag that does not end":      {strings.with(proto{0x80}), []string{"tag of Profile", "ends"}},
		"string index -1":            {strings.with(proto{}.number(7, 1<<64-1)), []string{"drop_frames", "string -1"}},
		"string index 2^32":          {strings.with(proto{}.message(1, proto{}.number(1, 1<<32))), []string{"ValueType.type", "4294967296"}},
		"packed numbers that end":    {strings.with(proto{}.message(2, proto{1<<3 | 2, 2, 1, 0x80})), []string{"field 1 of sample 0", "ends"}},
		"packed values that end":     {strings.with(proto{}.message(2, nil).message(2, proto{2<<3 | 2, 1, 0x80})), []string{"field 2 of sample 1", "ends"}},
		"packed comments that end":   {strings.with(proto{}.message(13, proto{0x80})), []string{"field 13 of Profile", "ends"}},
		"labels that end":            {strings.with(proto{}.message(2, proto{3<<3 | 2, 9, 0})), []string{"field 3 of sample 0", "ends"}},
		"locations packed, then cut": {strings.with(proto{}.message(2, proto{1<<3 | 2, 9, 0})), []string{"field 1 of sample 0", "ends"}},
		"values packed, then cut":    {strings.with(proto{}.message(2, proto{2<<3 | 2, 9, 0})), []string{"field 2 of sample 0", "ends"}},
		"lines that end":             {strings.with(proto{}.message(4, proto{}.number(1, 1)).message(4, proto{4<<3 | 2, 9, 0})), []string{"field 4 of location 1", "ends"}},
	} {
		t.Run(name, func(t *testing.T) { requireMalformed(t, test.raw, test.says...) })
	}
}

func withID(m proto) proto { return proto{}.number(1, 1).with(m) }

// wireFields lists the fields of each message: how to wrap the message in a Profile, the name of the message in errors, and
// which fields are numbers, messages or strings, or both.
var wireFields = []struct {
	name                   string
	wrap                   func(proto) proto
	numbers, bytes, either []protowire.Number
}{
	{"Profile", func(m proto) proto { return m }, []protowire.Number{7, 8, 9, 10, 12, 14, 15}, []protowire.Number{1, 2, 3, 4, 5, 6, 11}, []protowire.Number{13}},
	{"ValueType", func(m proto) proto { return proto{}.message(1, m) }, []protowire.Number{1, 2}, nil, nil},
	{"ValueType", func(m proto) proto { return proto{}.message(11, m) }, []protowire.Number{1, 2}, nil, nil},
	{"Sample", func(m proto) proto { return proto{}.message(2, m) }, nil, []protowire.Number{3}, []protowire.Number{1, 2}},
	{"Label", func(m proto) proto { return proto{}.message(2, proto{}.message(3, m)) }, []protowire.Number{1, 2, 3, 4}, nil, nil},
	{"Mapping", func(m proto) proto { return proto{}.message(3, withID(m)) }, []protowire.Number{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, nil, nil},
	{"Location", func(m proto) proto { return proto{}.message(4, withID(m)) }, []protowire.Number{1, 2, 3, 5}, []protowire.Number{4}, nil},
	{"Line", func(m proto) proto { return proto{}.message(4, withID(proto{}.message(4, m))) }, []protowire.Number{1, 2, 3}, nil, nil},
	{"Function", func(m proto) proto { return proto{}.message(5, withID(m)) }, []protowire.Number{1, 2, 3, 4, 5}, nil, nil},
}

// TestWrongWireType reads every field of every message with each wrong wire type.
func TestWrongWireType(t *testing.T) {
	strings := proto{}.strings("", "a")
	for _, m := range wireFields {
		wrong := func(fields []protowire.Number, forms ...func(proto, protowire.Number) proto) {
			for _, field := range fields {
				for _, form := range forms {
					raw := strings.with(m.wrap(form(nil, field)))
					requireMalformed(t, raw, fmt.Sprintf("field %d of %s has wire type", field, m.name))
					_, err := profile.ParseUncompressed(raw)
					assert.Error(t, err, "google/pprof takes field %d of %s", field, m.name)
				}
			}
		}
		asNumber := func(m proto, field protowire.Number) proto { return m.number(field, 1) }
		asBytes := func(m proto, field protowire.Number) proto { return m.message(field, nil) }
		wrong(m.numbers, asBytes, proto.fixed64, proto.fixed32)
		wrong(m.bytes, asNumber, proto.fixed64, proto.fixed32)
		wrong(m.either, proto.fixed64, proto.fixed32)
	}
}

// TestBadVarints reads every number of every message truncated, and with more than 64 bits.
func TestBadVarints(t *testing.T) {
	strings := proto{}.strings("", "a")
	eleven := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}
	bits65 := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2}
	for _, m := range wireFields {
		for _, field := range append(m.numbers, m.either...) {
			tag := byte(field << 3)
			requireMalformed(t, strings.with(m.wrap(proto{}.raw(tag))), fmt.Sprintf("field %d of ", field), "ends")
			requireMalformed(t, strings.with(m.wrap(proto{}.raw(tag, 0x80, 0x80))), fmt.Sprintf("field %d of ", field), "ends")
			for _, v := range [][]byte{eleven, bits65} {
				requireMalformed(t, strings.with(m.wrap(proto{}.raw(tag).raw(v...))), fmt.Sprintf("field %d of ", field), "64 bits")
			}
		}
		for _, field := range m.either {
			for _, v := range [][]byte{eleven, bits65} {
				requireMalformed(t, strings.with(m.wrap(proto{}.message(field, v))), fmt.Sprintf("field %d of ", field), "64 bits")
			}
		}
	}
	requireMalformed(t, strings.with(eleven), "tag of Profile", "64 bits")
}

// TestStringsThatDoNotExist sets every field that is a string index to the first index that does not exist.
func TestStringsThatDoNotExist(t *testing.T) {
	for _, test := range []struct {
		says   string
		fields []protowire.Number
		wrap   func(proto) proto
	}{
		{"sample_type 1", []protowire.Number{1, 2}, func(m proto) proto { return proto{}.message(1, nil).message(1, m) }},
		{"label 1", []protowire.Number{1, 2, 4}, func(m proto) proto {
			return proto{}.message(2, proto{}.message(3, nil)).message(2, proto{}.message(3, m))
		}},
		{"mapping 1", []protowire.Number{5, 6}, func(m proto) proto { return proto{}.message(3, withID(nil)).message(3, withID(m)) }},
		{"function 1", []protowire.Number{2, 3, 4}, func(m proto) proto { return proto{}.message(5, withID(nil)).message(5, withID(m)) }},
		{"period_type", []protowire.Number{1, 2}, func(m proto) proto { return proto{}.message(11, m) }},
		{"drop_frames", []protowire.Number{7}, func(m proto) proto { return m }},
		{"keep_frames", []protowire.Number{8}, func(m proto) proto { return m }},
		{"default_sample_type", []protowire.Number{14}, func(m proto) proto { return m }},
		{"doc_url", []protowire.Number{15}, func(m proto) proto { return m }},
		{"comment 0", []protowire.Number{13}, func(m proto) proto { return m }},
	} {
		for _, field := range test.fields {
			strings := proto{}.strings("", "a", "b")
			good := strings.with(test.wrap(proto{}.number(field, 2)))
			var p Profile
			require.NoError(t, p.Read(good, anySize), test.says)
			bad := strings.with(test.wrap(proto{}.number(field, 3)))
			requireMalformed(t, bad, test.says, "string 3 does not exist, the table has 3")
		}
	}
}

// TestTruncations cuts a profile after every byte. The result may be a valid profile only if the cut is between two fields, and
// google/pprof must agree.
func TestTruncations(t *testing.T) {
	for _, file := range []string{"plain.pb", "strings-first.pb", "labels-otel.pb", "unpacked-repeated.pb", "unknown-fields.pb"} {
		raw, err := os.ReadFile("testdata/edge/" + file)
		require.NoError(t, err)
		boundaries := map[int]bool{}
		for end := 0; end < len(raw); {
			_, _, n := protowire.ConsumeField(raw[end:])
			require.Positive(t, n)
			end += n
			boundaries[end] = true
		}
		for end := 1; end < len(raw); end++ {
			if !boundaries[end] {
				requireMalformed(t, raw[:end], "ends in the middle")
				continue
			}
			var p Profile
			err := p.Read(raw[:end], anySize)
			_, theirs := profile.ParseUncompressed(raw[:end])
			require.Equal(t, theirs == nil, err == nil, "%s cut at %d: ours %v, theirs %v", file, end, err, theirs)
		}
	}
}
