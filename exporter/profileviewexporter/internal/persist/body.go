// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

// maxDuration is the maximum duration of a profile.
const maxDuration = 24 * time.Hour

// describe returns the first part of a body: all but the compressed profile, which follows it.
func describe(e *recent.Entry) []byte {
	size := 64 + len(e.Tenant) + len(e.Service) + len(e.Type)
	for _, a := range e.Attributes {
		size += 2*binary.MaxVarintLen32 + len(a.Name) + len(a.Value)
	}
	b := make([]byte, 0, size)
	for _, text := range []string{e.Tenant, e.Service, e.Type} {
		b = appendText(b, text)
	}
	b = binary.AppendVarint(b, e.Begin.UnixNano())
	b = binary.AppendUvarint(b, uint64(min(max(0, e.End.Sub(e.Begin)), maxDuration)))
	b = append(b, e.ID[:]...)
	b = binary.AppendUvarint(b, uint64(e.Inflated))
	b = binary.AppendUvarint(b, uint64(len(e.Attributes)))
	for _, a := range e.Attributes {
		b = appendText(appendText(b, a.Name), a.Value)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// checksumOf returns the CRC-32C of a body.
func checksumOf(description, compressed []byte) uint32 {
	return crc32.Update(crc32.Checksum(description, castagnoli), castagnoli, compressed)
}

// attributeBytes is the memory of an attribute beside its text. It is doubled, since a list grows.
const attributeBytes = 2 * 32

// decodeBody returns the entry of a body, with its description and the compressed profile in new memory. It does not set the
// fields that are read from the profile. It calls reserve before it allocates memory, with the number of bytes.
func decodeBody(body []byte, reserve func(bytes int64) error) (*recent.Entry, error) {
	if err := reserve(2 * int64(len(body))); err != nil {
		return nil, err
	}
	r := reader{rest: body}
	e := &recent.Entry{Tenant: r.text(), Service: r.text(), Type: r.text()}
	e.Begin = time.Unix(0, r.varint())
	duration := r.uvarint(uint64(maxDuration))
	e.End = e.Begin.Add(time.Duration(duration))
	copy(e.ID[:], r.bytes(uint64(len(e.ID))))
	e.Inflated = int(r.uvarint(maxInflated))
	// Each attribute has two lengths.
	n := r.uvarint(uint64(len(r.rest) / 2))
	if err := reserve(2*int64(len(body)) + attributeBytes*int64(n)); err != nil {
		return nil, err
	}
	if n > 0 && r.err == nil {
		e.Attributes = make([]recent.Attribute, 0, n)
	}
	for range n {
		e.Attributes = append(e.Attributes, recent.Attribute{Name: r.text(), Value: r.text()})
		if r.err != nil {
			break
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	// The copy has no spare capacity, since that would count as memory of the entry.
	e.Compressed = make([]byte, len(r.rest))
	copy(e.Compressed, r.rest)
	return e, nil
}

// maxInflated is larger than any profile in memory.
const maxInflated = 1 << 30

// reader reads a description. After an error it returns zero values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s of an entry", errDamaged, what)
	}
	r.rest = nil
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("the length of a part")
		return nil
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) text() string { return string(r.bytes(r.uvarint(maxLength))) }

// uvarint reads a number that is at most limit.
func (r *reader) uvarint(limit uint64) uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 || value > limit {
		r.fail("a number")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

func (r *reader) varint() int64 {
	value, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("a number")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}
