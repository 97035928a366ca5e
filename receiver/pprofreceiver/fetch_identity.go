// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// identity identifies a sample by the content of its stack, its attributes and its link. It is the first half of a hash: one is
// kept for each counter, and nobody gains by two samples of a program with equal ones.
type identity [sha256.Size / 2]byte

// identities computes the identities of the samples of one message. It hashes each shared entry once.
type identities struct {
	dictionary pprofile.ProfilesDictionary
	known      map[tableEntry]identity
	// content has what the sums in progress hash, one after the other.
	content []byte
}

// tableEntry is an entry of the dictionary.
type tableEntry struct {
	table dictionary.Table
	index int32
}

func (s *identities) of(sample pprofile.Sample) identity {
	link := s.dictionary.LinkTable().At(int(sample.LinkIndex()))
	trace, span := link.TraceID(), link.SpanID()
	return s.sum(func() {
		s.add(s.stack(sample.StackIndex()))
		s.addSet(sample.AttributeIndices())
		s.content = append(append(s.content, trace[:]...), span[:]...)
	})
}

func (s *identities) stack(i int32) identity {
	return s.once(tableEntry{dictionary.Stacks, i}, func() {
		for _, location := range s.dictionary.StackTable().At(int(i)).LocationIndices().All() {
			s.add(s.location(location))
		}
	})
}

func (s *identities) location(i int32) identity {
	return s.once(tableEntry{dictionary.Locations, i}, func() {
		location := s.dictionary.LocationTable().At(int(i))
		s.add(s.mapping(location.MappingIndex()))
		s.addNumber(location.Address())
		for _, line := range location.Lines().All() {
			s.add(s.function(line.FunctionIndex()))
			s.addNumber(uint64(line.Line()))
			s.addNumber(uint64(line.Column()))
		}
	})
}

func (s *identities) function(i int32) identity {
	return s.once(tableEntry{dictionary.Functions, i}, func() {
		function := s.dictionary.FunctionTable().At(int(i))
		s.addString(function.NameStrindex())
		s.addString(function.SystemNameStrindex())
		s.addString(function.FilenameStrindex())
		s.addNumber(uint64(function.StartLine()))
	})
}

// symbolFlags begins the names of the attributes of a mapping that say which symbols a profile has for it. A program decides that
// for each profile: one new frame without a function can change it. They do not make it another mapping.
const symbolFlags = "pprof.mapping.has_"

func (s *identities) mapping(i int32) identity {
	return s.once(tableEntry{dictionary.Mappings, i}, func() {
		mapping := s.dictionary.MappingTable().At(int(i))
		own := pcommon.NewInt32Slice()
		for _, index := range mapping.AttributeIndices().All() {
			key := s.dictionary.AttributeTable().At(int(index)).KeyStrindex()
			if !strings.HasPrefix(s.dictionary.StringTable().At(int(key)), symbolFlags) {
				own.Append(index)
			}
		}
		s.addString(mapping.FilenameStrindex())
		s.addNumber(mapping.MemoryStart())
		s.addNumber(mapping.MemoryLimit())
		s.addNumber(mapping.FileOffset())
		s.addSet(own)
	})
}

// addSet adds the identities of attributes in an order that does not depend on indices.
func (s *identities) addSet(indices pcommon.Int32Slice) {
	set := make([]identity, 0, indices.Len())
	for _, i := range indices.All() {
		set = append(set, s.attribute(i))
	}
	slices.SortFunc(set, func(a, b identity) int { return slices.Compare(a[:], b[:]) })
	for _, one := range set {
		s.add(one)
	}
}

func (s *identities) attribute(i int32) identity {
	return s.once(tableEntry{dictionary.Attributes, i}, func() {
		attribute := s.dictionary.AttributeTable().At(int(i))
		s.addString(attribute.KeyStrindex())
		s.addString(attribute.UnitStrindex())
		s.addNumber(uint64(attribute.Value().Type()))
		// The whole text: what was cut would make different values equal. These values were made of labels.
		s.content = attributevalue.AppendText(s.content, attribute.Value(), math.MaxInt)
	})
}

// once returns the sum of an entry, which it computes the first time.
func (s *identities) once(of tableEntry, add func()) identity {
	known, found := s.known[of]
	if !found {
		known = s.sum(add)
		s.known[of] = known
	}
	return known
}

// sum hashes what add adds to the content. add can compute other sums.
func (s *identities) sum(add func()) identity {
	start := len(s.content)
	add()
	digest := sha256.Sum256(s.content[start:])
	s.content = s.content[:start]
	return identity(digest[:])
}

func (s *identities) add(part identity) { s.content = append(s.content, part[:]...) }

func (s *identities) addNumber(n uint64) { s.content = binary.BigEndian.AppendUint64(s.content, n) }

// addString adds a string behind its length.
func (s *identities) addString(i int32) {
	text := s.dictionary.StringTable().At(int(i))
	s.addNumber(uint64(len(text)))
	s.content = append(s.content, text...)
}
