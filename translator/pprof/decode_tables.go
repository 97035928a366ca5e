// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
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

	functionIDs idTable
	locationIDs idTable
	mappingIDs  idTable

	// frames are the positions in wire.Locations of the ids in wire.LocationIDs; later the indices in the dictionary.
	frames []int32
	// reached tells of each location whether a sample has it.
	reached []bool
	// What a position of the wire became in the dictionary, plus one; 0 says nothing yet.
	strings   []int32
	functions []int32
	mappings  []int32
	// mappingReached tells of each mapping whether a location has it that a sample has.
	mappingReached []bool
	locations      []int32

	lines      []dictionary.Line
	attributes []int32

	types    []ValueType
	order    []int
	counts   []int
	slices   []pprofile.SampleSlice
	labels   labelTranslation
	profiles []pprofile.Profile
}

// maxPooledBytes is the size above which working memory is left to the garbage collector instead of the pool.
const maxPooledBytes = 64 << 20

// release drops what refers to the caller's data and tells whether the memory is worth keeping.
func (t *decoding) release() bool {
	t.src = Source{}
	t.wire.Reset()
	clear(t.slices)
	clear(t.profiles)
	clear(t.types)
	if t.dict != nil {
		t.dict.Reset(dictionary.Sizes{})
	}
	return cap(t.inflated)+8*cap(t.wire.LocationIDs)+4*cap(t.frames)+24*cap(t.wire.Labels) <= maxPooledBytes
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
	t.strings = scratch.Zeroed(t.strings, w.NumStrings())
	if err := t.indexTables(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.nameTypes(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.countSamples(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.resolveFrames(); err != nil {
		return pprofile.Profiles{}, err
	}
	t.dict.Reset(dictionary.Sizes{
		Strings:   w.NumStrings(),
		Functions: len(w.Functions),
		Locations: len(w.Locations),
		Stacks:    len(w.Samples),
	})
	if err := t.fillTables(); err != nil {
		return pprofile.Profiles{}, err
	}
	pd := pprofile.NewProfiles()
	t.addProfiles(pd, payload)
	t.addSamples()
	t.dict.WriteTo(pd.Dictionary())
	return pd, nil
}

// indexTables makes the entries of each table findable by id.
func (t *decoding) indexTables() error {
	w := &t.wire
	n, err := t.functionIDs.fill("function", len(w.Functions),
		func(i int) uint64 { return w.Functions[i].ID },
		func(i, j int) bool { return w.Functions[i] == w.Functions[j] })
	t.stats.Repairs.RepeatedEntries += n
	if err != nil {
		return err
	}
	n, err = t.mappingIDs.fill("mapping", len(w.Mappings),
		func(i int) uint64 { return w.Mappings[i].ID },
		func(i, j int) bool { return w.Mappings[i] == w.Mappings[j] })
	t.stats.Repairs.RepeatedEntries += n
	if err != nil {
		return err
	}
	n, err = t.locationIDs.fill("location", len(w.Locations),
		func(i int) uint64 { return w.Locations[i].ID },
		func(i, j int) bool {
			a, b := w.Locations[i], w.Locations[j]
			a.LinesEnd, b.LinesEnd = 0, 0
			return a == b && slices.Equal(w.LinesAt(i), w.LinesAt(j))
		})
	t.stats.Repairs.RepeatedEntries += n
	return err
}

// resolveFrames turns the location ids of all samples into positions and marks what is reached.
func (t *decoding) resolveFrames() error {
	w := &t.wire
	t.frames = slices.Grow(t.frames[:0], len(w.LocationIDs))[:len(w.LocationIDs)]
	t.reached = scratch.Zeroed(t.reached, len(w.Locations))
	if t.locationIDs.dense {
		n := uint64(len(w.Locations))
		for i, id := range w.LocationIDs {
			if id-1 >= n {
				return t.noLocation(i)
			}
			t.frames[i] = int32(id - 1)
			t.reached[id-1] = true
		}
		return nil
	}
	for i, id := range w.LocationIDs {
		position, found := t.locationIDs.find(id)
		if !found {
			return t.noLocation(i)
		}
		t.frames[i] = int32(position)
		t.reached[position] = true
	}
	return nil
}

func (t *decoding) noLocation(frame int) error {
	sample, _ := slices.BinarySearchFunc(t.wire.Samples, uint32(frame), func(s pprofwire.Sample, frame uint32) int {
		if s.LocationsEnd <= frame {
			return -1
		}
		return 1
	})
	return malformed("sample %d: location id %d does not exist", sample, t.wire.LocationIDs[frame])
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
	t.stats.Repairs.InvalidUTF8++
	return bytes.ToValidUTF8(s, []byte("\uFFFD"))
}
