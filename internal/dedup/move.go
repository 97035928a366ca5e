// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// mover carries profiles over to a dictionary of their own, with only the entries that they need.
type mover struct {
	builder  *dictionary.Builder
	importer dictionary.Importer
	// err is the first reference that leads nowhere. There is none in a canonical message.
	err error
}

func newMover() mover { return mover{builder: dictionary.New()} }

// begin starts a dictionary for profiles of this one.
func (m *mover) begin(source pprofile.ProfilesDictionary) {
	m.builder.Reset(dictionary.Sizes{})
	m.importer.Reset(m.builder, source)
}

// rewrite gives a profile its references to the new dictionary.
func (m *mover) rewrite(profile pprofile.Profile) {
	m.rewriteHeader(profile)
	for _, sample := range profile.Samples().All() {
		m.rewriteSample(sample)
	}
}

func (m *mover) rewriteHeader(profile pprofile.Profile) {
	for _, v := range [...]pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		v.SetTypeStrindex(m.index(m.importer.String(v.TypeStrindex())))
		v.SetUnitStrindex(m.index(m.importer.String(v.UnitStrindex())))
	}
	m.rewriteAttributes(profile.AttributeIndices())
}

func (m *mover) rewriteSample(sample pprofile.Sample) {
	sample.SetStackIndex(m.index(m.importer.Stack(sample.StackIndex())))
	sample.SetLinkIndex(m.index(m.importer.Link(sample.LinkIndex())))
	m.rewriteAttributes(sample.AttributeIndices())
}

func (m *mover) rewriteAttributes(list pcommon.Int32Slice) {
	if list.Len() == 0 {
		return
	}
	set, err := m.importer.AppendAttributes(nil, list)
	m.index(0, err)
	list.FromRaw(set)
}

// index keeps the first error.
func (m *mover) index(i int32, err error) int32 {
	if m.err == nil {
		m.err = err
	}
	return i
}
