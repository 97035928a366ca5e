// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profileid computes profile ids. Equal payloads with equal resources and sample types get equal ids, so that a
// profile that is sent twice can be recognized.
package profileid // import "github.com/otelpprof/otelpprof/translator/internal/profileid"

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// Hash collects the content that the ids depend on. Create it with [NewHash].
type Hash struct {
	hash hash.Cloner
	// pending has short writes: one call of the hash function for each number would take longer than the hashing itself.
	pending []byte
}

// pendingBytes is the size of the buffer for short writes. Longer bytes go directly to the hash, longer texts in pieces of this size.
const pendingBytes = 512

// NewHash returns an empty Hash.
func NewHash() *Hash {
	return &Hash{sha256.New().(hash.Cloner), make([]byte, 0, pendingBytes)} // SHA-256 can be cloned since Go 1.25.
}

// Clone returns a Hash with the same content, which collects further content of its own.
func (h *Hash) Clone() *Hash {
	same, err := h.hash.Clone()
	if err != nil {
		panic(err) // only of hashes that consist of another hash
	}
	return &Hash{same, append(make([]byte, 0, pendingBytes), h.pending...)}
}

// Bytes adds bytes, prefixed with their length.
func (h *Hash) Bytes(b []byte) {
	h.Number(uint64(len(b)))
	if h.makeSpace(len(b)) {
		h.pending = append(h.pending, b...)
	} else {
		h.hash.Write(b)
	}
}

// text adds a string, prefixed with its length.
func (h *Hash) text(s string) {
	h.Number(uint64(len(s)))
	for ; len(s) > pendingBytes; s = s[pendingBytes:] { // The hash takes only bytes: to write all at once would copy them.
		h.makeSpace(pendingBytes)
		h.pending = append(h.pending, s[:pendingBytes]...)
	}
	h.makeSpace(len(s))
	h.pending = append(h.pending, s...)
}

// Number adds a number.
func (h *Hash) Number(n uint64) {
	h.makeSpace(8)
	h.pending = binary.BigEndian.AppendUint64(h.pending, n)
}

// makeSpace writes the buffer to the hash if n more bytes do not fit. It reports whether n bytes fit into the empty
// buffer.
func (h *Hash) makeSpace(n int) bool {
	if n > cap(h.pending)-len(h.pending) {
		h.hash.Write(h.pending)
		h.pending = h.pending[:0]
	}
	return n <= cap(h.pending)
}

// sum appends the hash of everything that was added.
func (h *Hash) sum(dst []byte) []byte {
	h.makeSpace(pendingBytes)
	return h.hash.Sum(dst)
}

// Attributes adds attributes; their order does not matter. Their nesting must have been checked with
// [attributevalue.Check].
func (h *Hash) Attributes(m pcommon.Map) {
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
		h.text(p.key)
		h.value(p.value)
	}
}

// value adds the type and the content of a value.
func (h *Hash) value(v pcommon.Value) {
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
		h.text(v.Str())
	default:
		var buffer [64]byte
		h.Bytes(attributevalue.AppendText(buffer[:0], v, math.MaxInt)) // without a limit: a shortened value could equal another one
	}
}

// IDs returns the ids for the content that was added. The Hash must not be used afterwards.
func (h *Hash) IDs() IDs {
	ids := IDs{hash: h}
	h.sum(ids.origin[:0])
	return ids
}

// IDs generates the ids of the profiles of one payload.
type IDs struct {
	hash   *Hash
	origin [sha256.Size]byte
	n      uint64
}

// maxTypeBytes limits what is read of each text of a sample type: many types of a payload can share a long one.
const maxTypeBytes = 1 << 10

// Next returns the id of the next profile. The beginning of its sample type is part of the id.
func (ids *IDs) Next(sampleType, unit string) (id pprofile.ProfileID) {
	h := ids.hash
	h.hash.Reset()
	h.pending = append(h.pending[:0], ids.origin[:]...)
	h.Number(ids.n)
	h.text(sampleType[:min(len(sampleType), maxTypeBytes)])
	h.text(unit[:min(len(unit), maxTypeBytes)])
	ids.n++
	var buffer [sha256.Size]byte
	copy(id[:], h.sum(buffer[:0]))
	return id
}
