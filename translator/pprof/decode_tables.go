// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// decoding is the memory of one translation. The next one reuses it.
//
// The order of work: read the pprof, find the entries that samples refer to, add these to the dictionary table by table,
// then add the samples with their stacks, attributes and links.
type decoding struct {
	opts  *DecodeOptions
	src   Source
	stats DecodeStats

	inflated []byte
	wire     pprofwire.Profile
	dict     *dictionary.Builder

	tables tables.Tables
	// repaired has the strings whose invalid bytes were replaced.
	repaired map[uint32][]byte
	// names has the Go strings that were made of strings of the payload.
	names      map[uint32]string
	attributes []int32

	types  []ValueType
	order  []int
	counts []int
	zeros  []int64
	slices []pprofile.SampleSlice
	labels labelTranslation
	events events

	meter meter.Meter
	// samplesBytes is the size of the samples of the message. message is the size of the whole message without its
	// dictionary and resource.
	samplesBytes, message int64
	// textBytes is the text in attributes so far.
	textBytes int64
}

// manyKeys is the number of label keys above which their map is not reused.
const manyKeys = 1000

// release drops all references to the caller's data and returns the size of the memory that is kept.
func (t *decoding) release() (bytes int) {
	t.src, t.meter, t.events = Source{}, meter.Meter{}, events{}
	inflate.Free(&t.inflated)
	t.wire.Reset()
	t.tables.Release()
	clear(t.slices)
	clear(t.types)
	clear(t.labels.keys)
	t.repaired, t.names = nil, nil
	if len(t.labels.byName) > manyKeys {
		t.labels.byName = nil
	}
	clear(t.labels.byName)
	if t.dict != nil {
		t.dict.Reset(dictionary.Lengths{})
	}
	return int(t.kept())
}

// translate translates the pprof that was read. payload is the caller's, for the profile ids.
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
	if err := t.nameTypes(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.countSamples(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.useTables(payload); err != nil {
		return pprofile.Profiles{}, err
	}
	repeated, err := t.tables.Resolve(w, t.dict, t)
	t.stats.Repairs.RepeatedEntries = repeated
	if err != nil {
		return pprofile.Profiles{}, err
	}
	t.dict.Reset(dictionary.Lengths{
		dictionary.Strings:   w.NumStrings(),
		dictionary.Functions: len(w.Functions),
		dictionary.Locations: len(w.Locations),
		dictionary.Stacks:    len(w.Samples),
	})
	t.dict.ExpectParts(len(w.Lines), len(w.LocationIDs))
	t.tables.Fill(t.opts.KeepUnreferencedMappings)
	t.stats.Repairs.UnknownMappings = t.tables.UnknownMappings
	t.stats.Repairs.NoFunction = t.tables.NoFunction
	t.labels.threads = t.usesThreadLabels()
	pd := pprofile.NewProfiles()
	t.addProfiles(pd, payload)
	t.addSamples()
	if err := t.meter.Err(); err != nil {
		return pprofile.Profiles{}, err
	}
	resource := pd.ResourceProfiles().At(0)
	t.finishEvents(resource.ScopeProfiles().At(0).Profiles())
	t.dict.WriteTo(pd.Dictionary())
	t.stats.MessageBytes = t.message + t.textBytes + t.dict.MessageBytes() +
		int64(dictionary.ResourceMemory(resource.Resource(), resource.SchemaUrl()))
	return pd, nil
}

// repairedBytes is the most memory for storing a repaired string, without its text. The text is up to three times as long
// as the original, and there can be two copies.
const repairedBytes = 128

// These methods are the rules by which the tables are translated: without changes.
var _ tables.Rules = (*decoding)(nil)

// Text returns string i of the payload as valid UTF-8. The result may refer to memory of the payload.
func (t *decoding) Text(i uint32) []byte {
	s := t.wire.String(i)
	if utf8.Valid(s) {
		return s
	}
	if repaired, known := t.repaired[i]; known {
		return repaired
	}
	t.stats.Repairs.InvalidUTF8++
	if t.meter.Use(2*dictionary.ValidFactor*int64(len(s))+repairedBytes) != nil {
		return nil
	}
	valid := dictionary.ValidText(s)
	scratch.Store(&t.repaired, i, valid)
	return valid
}

// Function translates a function.
func (t *decoding) Function(from *pprofwire.Function) dictionary.Function {
	return dictionary.Function{
		Name:       t.tables.String(from.Name),
		SystemName: t.tables.String(from.SystemName),
		Filename:   t.tables.String(from.Filename),
		StartLine:  from.StartLine,
	}
}

// Line translates a line.
func (t *decoding) Line(from *pprofwire.Line, function int32) dictionary.Line {
	return dictionary.Line{Function: function, Line: from.Line, Column: from.Column}
}

// LocationAttributes adds none.
func (t *decoding) LocationAttributes(attributes []int32, _ *pprofwire.Function) []int32 {
	return attributes
}
