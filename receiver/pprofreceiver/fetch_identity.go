// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

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

// identity identifies a sample by the content of its stack, its attributes and its link. It is the first half of a hash: one is
// kept for each counter, and nobody gains by two samples of a program with equal ones.
type identity [sha256.Size / 2]byte

// identities computes the identities of the samples of one message. It hashes each shared entry once.
type identities struct {
	dictionary pprofile.ProfilesDictionary
	hash       hash.Hash
	number     [8]byte
	digest     [sha256.Size]byte

	functions  map[int32]identity
	mappings   map[int32]identity
	locations  map[int32]identity
	stacks     map[int32]identity
	attributes map[int32]identity
}

func newIdentities(dictionary pprofile.ProfilesDictionary) *identities {
	return &identities{
		dictionary: dictionary,
		hash:       sha256.New(),
		functions:  map[int32]identity{},
		mappings:   map[int32]identity{},
		locations:  map[int32]identity{},
		stacks:     map[int32]identity{},
		attributes: map[int32]identity{},
	}
}

func (s *identities) of(sample pprofile.Sample) identity {
	stack := s.stack(sample.StackIndex())
	set := s.attributeSet(sample.AttributeIndices())
	link := s.dictionary.LinkTable().At(int(sample.LinkIndex()))
	trace, span := link.TraceID(), link.SpanID()
	return s.sum(func() {
		s.writeAll([]identity{stack})
		s.writeAll(set)
		s.hash.Write(trace[:])
		s.hash.Write(span[:])
	})
}

func (s *identities) stack(i int32) identity {
	return remember(s.stacks, i, func() identity {
		indices := s.dictionary.StackTable().At(int(i)).LocationIndices()
		locations := make([]identity, 0, indices.Len())
		for _, location := range indices.All() {
			locations = append(locations, s.location(location))
		}
		return s.sum(func() { s.writeAll(locations) })
	})
}

func (s *identities) location(i int32) identity {
	return remember(s.locations, i, func() identity {
		location := s.dictionary.LocationTable().At(int(i))
		parts := []identity{s.mapping(location.MappingIndex())}
		for _, line := range location.Lines().All() {
			parts = append(parts, s.function(line.FunctionIndex()))
		}
		return s.sum(func() {
			s.writeAll(parts)
			s.writeNumber(location.Address())
			for _, line := range location.Lines().All() {
				s.writeNumber(uint64(line.Line()))
				s.writeNumber(uint64(line.Column()))
			}
		})
	})
}

func (s *identities) function(i int32) identity {
	return remember(s.functions, i, func() identity {
		function := s.dictionary.FunctionTable().At(int(i))
		return s.sum(func() {
			s.writeString(function.NameStrindex())
			s.writeString(function.SystemNameStrindex())
			s.writeString(function.FilenameStrindex())
			s.writeNumber(uint64(function.StartLine()))
		})
	})
}

// symbolFlags begins the names of the attributes of a mapping that say which symbols a profile has for it. A program decides that
// for each profile: one new frame without a function can change it. They do not make it another mapping.
const symbolFlags = "pprof.mapping.has_"

func (s *identities) mapping(i int32) identity {
	return remember(s.mappings, i, func() identity {
		mapping := s.dictionary.MappingTable().At(int(i))
		own := pcommon.NewInt32Slice()
		for _, index := range mapping.AttributeIndices().All() {
			key := s.dictionary.AttributeTable().At(int(index)).KeyStrindex()
			if !strings.HasPrefix(s.dictionary.StringTable().At(int(key)), symbolFlags) {
				own.Append(index)
			}
		}
		set := s.attributeSet(own)
		return s.sum(func() {
			s.writeString(mapping.FilenameStrindex())
			s.writeNumber(mapping.MemoryStart())
			s.writeNumber(mapping.MemoryLimit())
			s.writeNumber(mapping.FileOffset())
			s.writeAll(set)
		})
	})
}

// attributeSet returns the identities of attributes in an order that does not depend on indices.
func (s *identities) attributeSet(indices pcommon.Int32Slice) []identity {
	set := make([]identity, 0, indices.Len())
	for _, i := range indices.All() {
		set = append(set, remember(s.attributes, i, func() identity {
			attribute := s.dictionary.AttributeTable().At(int(i))
			return s.sum(func() {
				s.writeString(attribute.KeyStrindex())
				s.writeString(attribute.UnitStrindex())
				s.writeNumber(uint64(attribute.Value().Type()))
				// The whole text: what was cut would make different values equal. These values were made of labels.
				s.writeText(string(attributevalue.AppendText(nil, attribute.Value(), math.MaxInt)))
			})
		}))
	}
	slices.SortFunc(set, func(a, b identity) int { return slices.Compare(a[:], b[:]) })
	return set
}

func remember(known map[int32]identity, i int32, compute func() identity) identity {
	found, ok := known[i]
	if !ok {
		found = compute()
		known[i] = found
	}
	return found
}

// sum hashes what write writes. It must not be called while another sum is computed.
func (s *identities) sum(write func()) (sum identity) {
	s.hash.Reset()
	write()
	copy(sum[:], s.hash.Sum(s.digest[:0]))
	return sum
}

func (s *identities) writeAll(parts []identity) {
	s.writeNumber(uint64(len(parts)))
	for i := range parts {
		s.hash.Write(parts[i][:])
	}
}

func (s *identities) writeNumber(n uint64) {
	binary.BigEndian.PutUint64(s.number[:], n)
	s.hash.Write(s.number[:])
}

func (s *identities) writeString(i int32) { s.writeText(s.dictionary.StringTable().At(int(i))) }

func (s *identities) writeText(text string) {
	s.writeNumber(uint64(len(text)))
	s.hash.Write([]byte(text))
}
