// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

const mebibyte = 1 << 20

// sharing builds a message whose parts refer to what is long. All of it is small on the wire.
type sharing struct {
	pprofile.Profiles
	d pprofile.ProfilesDictionary
}

func newSharing() sharing {
	s := sharing{Profiles: pprofile.NewProfiles()}
	s.d = s.Dictionary()
	s.d.StringTable().Append("")
	s.d.MappingTable().AppendEmpty()
	s.d.LocationTable().AppendEmpty()
	s.d.FunctionTable().AppendEmpty()
	s.d.LinkTable().AppendEmpty()
	s.d.AttributeTable().AppendEmpty()
	s.d.StackTable().AppendEmpty()
	s.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty()
	return s
}

func (s sharing) text(text string) int32 {
	s.d.StringTable().Append(text)
	return int32(s.d.StringTable().Len() - 1)
}

func (s sharing) attribute(key int32, value int64) int32 {
	a := s.d.AttributeTable().AppendEmpty()
	a.SetKeyStrindex(key)
	a.Value().SetInt(value)
	return int32(s.d.AttributeTable().Len() - 1)
}

// sample adds a profile with a sample of a stack.
func (s sharing) sample(stack int32) pprofile.Sample {
	sample := s.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().AppendEmpty().Samples().AppendEmpty()
	sample.SetStackIndex(stack)
	sample.Values().Append(1)
	return sample
}

// duplicates makes entries with two attributes of one long key. Each refers to the one before.
func (s sharing) duplicates() {
	key := s.text(strings.Repeat("\x01", mebibyte))
	pair := []int32{s.attribute(key, 1), s.attribute(key, 2)}
	for i := range int32(120) {
		s.d.MappingTable().AppendEmpty().AttributeIndices().FromRaw(pair)
		location := s.d.LocationTable().AppendEmpty()
		location.SetMappingIndex(i + 1)
		location.SetAddress(uint64(i))
		s.d.StackTable().AppendEmpty().LocationIndices().Append(i + 1)
		s.sample(i + 1).AttributeIndices().FromRaw(pair)
	}
}

// faulty lets many scopes have one text that is not UTF-8.
func (s sharing) faulty() {
	text := strings.Repeat("\xffa", mebibyte/2)
	for i := range 200 {
		scope := s.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty()
		scope.Scope().SetName(strconv.Itoa(i))
		scope.Scope().Attributes().PutStr("text", text)
		profile := scope.Profiles().AppendEmpty()
		profile.Samples().AppendEmpty().Values().Append(1)
	}
}

// equalSets makes many entries that equal one with a long list.
func (s sharing) equalSets(mappings bool) {
	a := s.attribute(s.text("key"), 1)
	long := make([]int32, mebibyte)
	for i := range long {
		long[i] = a
	}
	for i := range 1000 {
		list := []int32{a}
		if i == 0 {
			list = long
		}
		if mappings {
			s.d.MappingTable().AppendEmpty().AttributeIndices().FromRaw(list)
		} else {
			s.d.LocationTable().AppendEmpty().AttributeIndices().FromRaw(list)
		}
	}
	s.sample(0)
}

// longKeys gives many attributes one long key. With a text that is not UTF-8, the keys are numbered.
func (s sharing) longKeys(faulty bool) {
	key := s.text(strings.Repeat("k", mebibyte))
	for i := range 200_000 {
		s.attribute(key, int64(i))
	}
	if faulty {
		s.text("\xff")
	}
	s.sample(0).AttributeIndices().Append(1)
}

// partialLinks gives samples a link without a span, an attribute with its key, and one with a long key.
func (s sharing) partialLinks() {
	long, id := s.attribute(s.text(strings.Repeat("k", mebibyte)), 1), s.attribute(s.text("trace_id"), 5)
	s.d.LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{1})
	for range 200_000 {
		sample := s.sample(0)
		sample.SetLinkIndex(1)
		sample.AttributeIndices().FromRaw([]int32{long, id})
	}
}

// invalidOfService has invalid profiles of a service whose name costs much.
func (s sharing) invalidOfService() {
	name := s.ResourceProfiles().At(0).Resource().Attributes().PutEmptySlice("service.name")
	for i := range 40_000 {
		name.AppendEmpty().SetInt(int64(i))
	}
	for range 10_000 {
		s.sample(99)
	}
}

// TestSharedPartsCostOnce: a text, a list or a value that many parts of a message share costs its size once, in time and in memory.
func TestSharedPartsCostOnce(t *testing.T) {
	for name, test := range map[string]struct {
		fill func(s sharing)
		drop int
	}{
		"keys that repeat":          {fill: sharing.duplicates},
		"texts that are not UTF-8":  {fill: sharing.faulty},
		"equal sets of mappings":    {fill: func(s sharing) { s.equalSets(true) }},
		"equal sets of locations":   {fill: func(s sharing) { s.equalSets(false) }},
		"keys beside a faulty text": {fill: func(s sharing) { s.longKeys(true) }},
		"keys that may be dropped":  {fill: func(s sharing) { s.longKeys(false) }, drop: 9},
		"keys of partial links":     {fill: sharing.partialLinks},
		"a service name":            {fill: sharing.invalidOfService},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSharing()
			test.fill(s)
			options := dedup.Options{DropPartialLinks: true, NameFunctions: true, ClearNegativeLines: true}
			for i := range test.drop {
				options.DropAttributes = append(options.DropAttributes, fmt.Sprint("key ", i))
			}
			var took time.Duration
			allocated := memorytest.Allocated(func() {
				took = profiletest.CPUTime(func() { _, _, _ = dedup.New(options).Deduplicate(s.Profiles) })
			})
			assert.Less(t, took, time.Second)
			assert.Less(t, allocated, int64(100*mebibyte))
		})
	}
}
