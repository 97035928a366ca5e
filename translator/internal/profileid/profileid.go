// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profileid makes the ids of profiles: the same for the same payload, resource and sample type, so that what was
// sent twice can be recognised.
package profileid // import "github.com/otelpprof/otelpprof/translator/internal/profileid"

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// Hash collects what the ids depend on. Make it with [NewHash].
type Hash struct{ state *state }

// state holds back what is short: a call of the hash function for each number takes longer than all of the hashing.
type state struct {
	hash    hash.Hash
	pending []byte
}

// pendingBytes is how much is held back, and the size from which on nothing is.
const pendingBytes = 512

// NewHash returns a Hash of nothing.
func NewHash() Hash { return Hash{&state{sha256.New(), make([]byte, 0, pendingBytes)}} }

// Bytes adds bytes, which are apart from those before and after them.
func (h Hash) Bytes(b []byte) {
	h.Number(uint64(len(b)))
	if h.makeRoom(len(b)) {
		h.state.pending = append(h.state.pending, b...)
	} else {
		h.state.hash.Write(b)
	}
}

// Text is Bytes for a string.
func (h Hash) Text(s string) {
	h.Number(uint64(len(s)))
	if h.makeRoom(len(s)) {
		h.state.pending = append(h.state.pending, s...)
	} else {
		_, _ = io.WriteString(h.state.hash, s) // never fails
	}
}

// Number adds a number.
func (h Hash) Number(n uint64) {
	h.makeRoom(8)
	h.state.pending = binary.BigEndian.AppendUint64(h.state.pending, n)
}

// makeRoom tells whether n bytes may be held back, too.
func (h Hash) makeRoom(n int) bool {
	if n > cap(h.state.pending)-len(h.state.pending) {
		h.state.hash.Write(h.state.pending)
		h.state.pending = h.state.pending[:0]
	}
	return n <= cap(h.state.pending)
}

// sum appends the hash of all that was added.
func (h Hash) sum(dst []byte) []byte {
	h.makeRoom(pendingBytes)
	return h.state.hash.Sum(dst)
}

// Attributes adds attributes, whatever their order. Their values must not be too deep, see [attributevalue.Check].
func (h Hash) Attributes(m pcommon.Map) {
	type pair struct {
		key   string
		value pcommon.Value
	}
	pairs := make([]pair, 0, m.Len())
	for key, value := range m.All() {
		pairs = append(pairs, pair{key, value})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	h.Number(uint64(len(pairs)))
	for _, p := range pairs {
		h.Text(p.key)
		h.value(p.value)
	}
}

// value adds a value and its type.
func (h Hash) value(v pcommon.Value) {
	h.Number(uint64(v.Type()))
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		h.Number(uint64(v.Slice().Len()))
		for _, item := range v.Slice().All() {
			h.value(item)
		}
	case pcommon.ValueTypeMap:
		h.Attributes(v.Map())
	case pcommon.ValueTypeStr:
		h.Text(v.Str())
	default:
		var room [64]byte
		h.Bytes(attributevalue.AppendText(room[:0], v, math.MaxInt)) // what was cut would make different values equal
	}
}

// IDs returns the ids that follow from what was added.
func (h Hash) IDs() IDs {
	var ids IDs
	h.sum(ids.origin[:0])
	return ids
}

// IDs are the ids of the profiles of one payload, one after the other.
type IDs struct {
	origin [sha256.Size]byte
	n      uint64
}

// Next returns the id of the next profile, whose sample type this is.
func (ids *IDs) Next(sampleType, unit string) pprofile.ProfileID {
	var room [128]byte
	b := append(room[:0], ids.origin[:]...)
	b = binary.BigEndian.AppendUint64(b, ids.n)
	for _, text := range []string{sampleType, unit} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	ids.n++
	sum := sha256.Sum256(b)
	return pprofile.ProfileID(sum[:16])
}
