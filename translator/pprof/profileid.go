// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// profileIDs makes the ids of the profiles of one payload: the same for the same payload, resource and sample type, so
// that a repeated upload can be recognised; random without a time, since two such payloads may well be equal.
type profileIDs struct {
	payload [sha256.Size]byte
	n       uint64
}

func (t *decoding) newProfileIDs(payload []byte) profileIDs {
	var ids profileIDs
	if t.wire.TimeNanos == 0 {
		_, _ = rand.Read(ids.payload[:]) // never fails
		return ids
	}
	h := sha256.New()
	writeBytes(h, payload)
	if t.src.Resource != (pcommon.Map{}) {
		writeMap(h, t.src.Resource)
	}
	h.Sum(ids.payload[:0])
	return ids
}

func (ids *profileIDs) next(v ValueType) pprofile.ProfileID {
	h := sha256.New()
	h.Write(ids.payload[:])
	writeNumber(h, ids.n)
	writeBytes(h, []byte(v.Type))
	writeBytes(h, []byte(v.Unit))
	ids.n++
	return pprofile.ProfileID(h.Sum(nil)[:16])
}

// writeMap hashes the attributes whatever their order.
func writeMap(h hash.Hash, m pcommon.Map) {
	type pair struct{ key, value string }
	pairs := make([]pair, 0, m.Len())
	for key, value := range m.All() {
		pairs = append(pairs, pair{key, value.AsString()})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	for _, p := range pairs {
		writeBytes(h, []byte(p.key))
		writeBytes(h, []byte(p.value))
	}
}

func writeBytes(h hash.Hash, b []byte) {
	writeNumber(h, uint64(len(b)))
	h.Write(b)
}

func writeNumber(h hash.Hash, n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
}
