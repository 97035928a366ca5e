// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadForms: different encodings of the same message give the same tables.
func TestReadForms(t *testing.T) {
	strings := proto{}.strings("", "a", "b")
	sample := func(m proto) proto { return strings.with(proto{}.message(2, m)) }
	for name, test := range map[string]struct{ a, b proto }{
		"repeated numbers unpacked": {
			sample(proto{}.packed(1, 1, 2, 300).packed(2, 4, 5)),
			sample(proto{}.numbers(1, 1, 2, 300).numbers(2, 4, 5)),
		},
		"repeated numbers packed and unpacked": {
			sample(proto{}.packed(1, 1, 2, 300).packed(2, 4, 5, 6)),
			sample(proto{}.number(1, 1).packed(1).packed(1, 2).number(2, 4).packed(2, 5).number(1, 300).number(2, 6)),
		},
		"comments packed and unpacked": {
			strings.with(proto{}.packed(13, 1, 2, 0)),
			strings.with(proto{}.number(13, 1).packed(13, 2).number(13, 0)),
		},
		"labels between the numbers": {
			sample(proto{}.packed(1, 1, 2).packed(2, 3, 4).message(3, proto{}.number(1, 1)).message(3, proto{}.number(1, 2))),
			sample(proto{}.message(3, proto{}.number(1, 1)).number(2, 3).packed(1, 1, 2).message(3, proto{}.number(1, 2)).number(2, 4)),
		},
		"strings last": {
			strings.with(proto{}.message(1, proto{}.number(1, 1).number(2, 2)).number(7, 1)),
			proto{}.number(7, 1).message(1, proto{}.number(2, 2).number(1, 1)).with(strings),
		},
		"a number given twice": {
			strings.with(proto{}.number(12, 2).number(7, 2).message(5, proto{}.number(1, 7).number(2, 2))),
			strings.with(proto{}.number(12, 1).number(7, 1).message(5, proto{}.number(2, 1).number(1, 5).number(2, 2).number(1, 7)).
				number(12, 2).number(7, 2)),
		},
		"a singular message given twice": {
			strings.with(proto{}.message(11, proto{}.number(1, 1).number(2, 2))),
			strings.with(proto{}.message(11, proto{}.number(1, 2).number(2, 2)).message(11, proto{}.number(1, 1))),
		},
		"zeros that are written": {
			strings.with(proto{}.message(4, withID(nil)).message(1, nil).message(3, withID(nil))),
			strings.with(proto{}.message(4, proto{}.numbers(1, 0, 1).number(2, 0).number(3, 0).number(5, 0)).
				message(1, proto{}.number(1, 0)).message(3, withID(nil).number(7, 0).number(10, 0)).
				number(7, 0).number(10, 0).number(12, 0)),
		},
		"a time of zero before the time": {
			strings.with(proto{}.number(9, 100)),
			strings.with(proto{}.number(9, 0).number(9, 100)),
		},
		"varints longer than need be": {
			sample(proto{}.packed(1, 1, 2).number(2, 3)).number(12, 5),
			sample(proto{}.raw(1<<3|2, 0x84, 0, 0x81, 0, 0x82, 0).raw(2<<3, 0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)).
				raw(12<<3, 0x85, 0x80, 0),
		},
		"any number but 0 is true": {
			strings.with(proto{}.message(3, withID(nil).number(7, 1)).message(4, withID(nil).number(5, 1))),
			strings.with(proto{}.message(3, withID(nil).number(7, 1<<63)).message(4, withID(nil).number(5, 256))),
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, read(t, test.a), read(t, test.b)) })
	}
}

// TestReadSkipsUnknownFields: unknown fields of any number and type are skipped in every message.
func TestReadSkipsUnknownFields(t *testing.T) {
	unknown := proto{}.number(16, 1<<40).fixed64(17).fixed32(1000).message(1<<29-1, proto("any bytes"))
	strings := proto{}.strings("", "a")
	line := proto{}.number(1, 51).number(2, 20)
	label := proto{}.number(1, 1).number(3, 5)
	build := func(extra proto) proto {
		return strings.with(proto{}).
			message(1, extra.with(proto{}.number(1, 1))).
			message(2, extra.with(proto{}.packed(1, 71).number(2, 5).message(3, extra.with(label)))).
			message(3, extra.with(proto{}.number(1, 61))).
			message(4, extra.with(proto{}.number(1, 71).message(4, extra.with(line)))).
			message(5, extra.with(proto{}.number(1, 51).number(2, 1))).
			message(11, extra.with(proto{}.number(1, 1))).
			with(extra)
	}
	got, want := read(t, build(unknown)), read(t, build(nil))
	const messages = 9
	assert.Equal(t, 4*messages, got.UnknownFields)
	got.UnknownFields = 0
	assert.Equal(t, want, got)
}

func TestReadStringsUnchanged(t *testing.T) {
	raw := proto{}.strings("not empty", "", "\xff\xfe", "\x00", "ü").number(7, 4)
	var p Profile
	require.NoError(t, p.Read(raw, anySize))
	assert.Equal(t, []string{"not empty", "", "\xff\xfe", "\x00", "ü"}, contentOf(&p).Strings)
	// The returned string has no spare capacity: otherwise an append to it would overwrite the payload.
	s := p.String(0)
	assert.Len(t, s, cap(s))
}

// TestReuse: nothing of an earlier payload is left, whether that was larger, smaller or malformed.
func TestReuse(t *testing.T) {
	small := proto{}.strings("", "a").message(1, proto{}.number(1, 1))
	large := oneOfEach(3).number(7, 1).number(8, 1).number(9, 1).number(10, 1).
		message(11, proto{}.number(1, 1)).number(12, 1).packed(13, 1).number(14, 1).number(15, 1).number(16, 1)
	broken := large.with(proto{}.number(7, 1000))
	var p Profile
	for _, raw := range []proto{small, large, small, broken, large, broken, small} {
		fresh := Profile{}
		wantErr := fresh.Read(raw, anySize)
		assert.Equal(t, wantErr, p.Read(raw, anySize))
		assert.Equal(t, contentOf(&fresh), contentOf(&p))
	}
	p.Reset()
	assert.Equal(t, content{}, contentOf(&p))
	assert.Nil(t, p.raw, "Reset lets go of the payload")
}

// oneOfEach returns a payload with n entries in each table, which refer to string 1.
func oneOfEach(n int) proto {
	m := proto{}.strings("", "string 1")
	for i := range uint64(n) {
		id := i + 1
		m = m.message(1, proto{}.number(1, 1).number(2, 1)).
			message(2, proto{}.packed(1, id).packed(2, id).message(3, proto{}.number(1, 1).number(2, 1))).
			message(3, proto{}.number(1, id).number(5, 1).number(6, 1)).
			message(4, proto{}.number(1, id).number(2, id).message(4, proto{}.number(1, id))).
			message(5, proto{}.number(1, id).number(2, 1).number(3, 1).number(4, 1))
	}
	return m
}
