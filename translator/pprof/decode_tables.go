// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/references"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// decoding is the working memory of one translation, used again by the next.
//
// The order of work: read the wire, find out which entries the samples reach, put those into the dictionary table by
// table, then the samples with their stacks, attributes and links.
type decoding struct {
	opts  *DecodeOptions
	src   Source
	stats DecodeStats

	inflated []byte
	wire     pprofwire.Profile
	dict     *dictionary.Builder

	refs references.Resolver
	// What a position of the wire became in the dictionary, plus one; 0 says nothing yet.
	strings []int32
	// mended holds the strings whose invalid bytes were replaced.
	mended    map[uint32][]byte
	functions []int32
	mappings  []int32
	// mappingReached tells of each mapping whether a location has it that a sample has.
	mappingReached []bool
	locations      []int32

	lines      []dictionary.Line
	attributes []int32

	types  []ValueType
	order  []int
	counts []int
	zeros  []int64
	slices []pprofile.SampleSlice
	labels labelTranslation
}

// release drops what refers to the caller's data and returns the size of the memory, but for what is small beside it.
func (t *decoding) release() (bytes int) {
	t.src = Source{}
	t.wire.Reset()
	clear(t.slices)
	clear(t.types)
	clear(t.mended)
	if t.dict != nil {
		t.dict.Reset(dictionary.Sizes{})
	}
	return cap(t.inflated) + t.wire.Bytes()
}

func (t *decoding) begin(opts *DecodeOptions, src Source) {
	t.opts, t.src = opts, src
	t.stats = DecodeStats{}
	if t.dict == nil {
		t.dict = dictionary.New()
	}
}

// translate turns the payload that was read into profiles. payload is what the caller gave, for the profile ids.
func (t *decoding) translate(payload []byte) (pprofile.Profiles, error) {
	w := &t.wire
	t.stats.Repairs.UnknownFields = w.UnknownFields
	t.stats.Samples = len(w.Samples)
	if len(w.String(0)) > 0 {
		t.stats.Repairs.FirstString = 1
	}
	for _, time := range []int64{w.TimeNanos, w.DurationNanos} {
		if time < 0 {
			t.stats.Repairs.NegativeTimes++
		}
	}
	t.strings = scratch.Zeroed(t.strings, w.NumStrings())
	repeated, err := t.refs.Resolve(w)
	t.stats.Repairs.RepeatedEntries = repeated
	if err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.nameTypes(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.countSamples(); err != nil {
		return pprofile.Profiles{}, err
	}
	t.dict.Reset(dictionary.Sizes{
		Strings:   w.NumStrings(),
		Functions: len(w.Functions),
		Locations: len(w.Locations),
		Stacks:    len(w.Samples),
	})
	t.dict.ExpectFrames(len(w.LocationIDs))
	t.fillTables()
	pd := pprofile.NewProfiles()
	t.addProfiles(pd, payload)
	t.addSamples()
	t.dict.WriteTo(pd.Dictionary())
	return pd, nil
}

// string puts string i of the payload into the dictionary. A reference to string 0 is one that is not set.
func (t *decoding) string(i uint32) int32 {
	if i == 0 {
		return 0
	}
	if index := t.strings[i]; index != 0 {
		return index - 1
	}
	index := t.dict.StringBytes(t.text(i))
	t.strings[i] = index + 1
	return index
}

// text returns string i of the payload as valid UTF-8. It may be borrowed from the payload.
func (t *decoding) text(i uint32) []byte {
	s := t.wire.String(i)
	if utf8.Valid(s) {
		return s
	}
	if mended, known := t.mended[i]; known {
		return mended
	}
	if t.mended == nil {
		t.mended = map[uint32][]byte{}
	}
	t.stats.Repairs.InvalidUTF8++
	t.mended[i] = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	return t.mended[i]
}
