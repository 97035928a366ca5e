// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

// naive counts the entries that a deduplicated message must have. It writes out the content of each entry that a profile
// reaches, and compares each with each.
type naive struct {
	d                                                                  pprofile.ProfilesDictionary
	strings, functions, mappings, locations, stacks, attributes, links []string
}

// add adds a value to a table unless it is there, and returns it.
func add(table *[]string, value string) string {
	if !slices.Contains(*table, value) {
		*table = append(*table, value)
	}
	return value
}

func (n *naive) string(i int32) string {
	if i == 0 {
		return add(&n.strings, "")
	}
	return add(&n.strings, n.d.StringTable().At(int(i)))
}

func (n *naive) function(i int32) string {
	if i == 0 {
		return add(&n.functions, `"","","",0`)
	}
	f := n.d.FunctionTable().At(int(i))
	return add(&n.functions, fmt.Sprintf("%q,%q,%q,%d",
		n.string(f.NameStrindex()), n.string(f.SystemNameStrindex()), n.string(f.FilenameStrindex()), f.StartLine()))
}

// value writes maps with sorted keys, and one form for all zeros and one for all NaNs.
func value(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		var pairs []string
		for key, item := range v.Map().All() {
			pairs = append(pairs, fmt.Sprintf("%q:%s", key, value(item)))
		}
		slices.Sort(pairs)
		return "{" + strings.Join(pairs, ",") + "}"
	case pcommon.ValueTypeSlice:
		var items []string
		for _, item := range v.Slice().All() {
			items = append(items, value(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case pcommon.ValueTypeDouble:
		return fmt.Sprintf("double %v", v.Double()+0)
	default:
		return fmt.Sprintf("%v %q", v.Type(), v.AsString())
	}
}

const noAttribute = `"","",Empty ""`

func (n *naive) attribute(i int32) string {
	if i == 0 {
		return add(&n.attributes, noAttribute)
	}
	a := n.d.AttributeTable().At(int(i))
	return add(&n.attributes, fmt.Sprintf("%q,%q,%s", n.string(a.KeyStrindex()), n.string(a.UnitStrindex()), value(a.Value())))
}

func (n *naive) set(list pcommon.Int32Slice) string {
	var set []string
	for _, i := range list.All() {
		if a := n.attribute(i); a != noAttribute {
			add(&set, a)
		}
	}
	slices.Sort(set)
	return fmt.Sprintf("%q", set)
}

func (n *naive) mapping(i int32) string {
	if i == 0 {
		return add(&n.mappings, `0,0,0,"",[]`)
	}
	m := n.d.MappingTable().At(int(i))
	return add(&n.mappings, fmt.Sprintf("%d,%d,%d,%q,%s",
		m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), n.string(m.FilenameStrindex()), n.set(m.AttributeIndices())))
}

func (n *naive) location(i int32) string {
	if i == 0 {
		return add(&n.locations, n.mapping(0)+",0,[],[]")
	}
	l := n.d.LocationTable().At(int(i))
	lines := []string{}
	for _, line := range l.Lines().All() {
		lines = append(lines, fmt.Sprintf("%s,%d,%d", n.function(line.FunctionIndex()), line.Line(), line.Column()))
	}
	return add(&n.locations, fmt.Sprintf("%s,%d,%q,%s", n.mapping(l.MappingIndex()), l.Address(), lines, n.set(l.AttributeIndices())))
}

func (n *naive) stack(i int32) string {
	locations := []string{}
	if i > 0 {
		for _, location := range n.d.StackTable().At(int(i)).LocationIndices().All() {
			locations = append(locations, n.location(location))
		}
	}
	return add(&n.stacks, fmt.Sprintf("%q", locations))
}

func (n *naive) link(i int32) string {
	if i == 0 {
		return add(&n.links, "/")
	}
	l := n.d.LinkTable().At(int(i))
	return add(&n.links, l.TraceID().String()+"/"+l.SpanID().String())
}

// count returns the number of entries of each table, and of samples, that must be left.
func (n *naive) count(pd pprofile.Profiles) (lengths dictionary.Lengths, samples int) {
	n.d = pd.Dictionary()
	n.string(0)
	n.function(0)
	n.mapping(0)
	n.location(0)
	n.stack(0)
	n.attribute(0)
	n.link(0)
	for _, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				samples += n.profile(profile)
			}
		}
	}
	return dictionary.Lengths{
		dictionary.Strings: len(n.strings), dictionary.Functions: len(n.functions), dictionary.Mappings: len(n.mappings), dictionary.Locations: len(n.locations),
		dictionary.Stacks: len(n.stacks), dictionary.Attributes: len(n.attributes), dictionary.Links: len(n.links),
	}, samples
}

func (n *naive) profile(profile pprofile.Profile) (samples int) {
	for _, v := range []pprofile.ValueType{profile.SampleType(), profile.PeriodType()} {
		n.string(v.TypeStrindex())
		n.string(v.UnitStrindex())
	}
	n.set(profile.AttributeIndices())
	var identities []string
	for _, sample := range profile.Samples().All() {
		add(&identities, fmt.Sprintf("%s,%s,%s,%v,%v",
			n.stack(sample.StackIndex()), n.link(sample.LinkIndex()), n.set(sample.AttributeIndices()),
			sample.Values().Len() > 0, sample.TimestampsUnixNano().Len() > 0))
	}
	return len(identities)
}

func TestAgainstTheNaiveDeduplication(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		if rapid.Bool().Draw(t, "disarranged") {
			pd, _ = deduplicate(t, pd)
			pd = gen.Disarrange(pd, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		wantLengths, wantSamples := (&naive{}).count(pd)
		after, stats := deduplicate(t, pd)
		assert.Equal(t, wantLengths, lengths(after))
		assert.Equal(t, wantSamples, stats.SamplesOut)
		assert.Equal(t, wantSamples, after.SampleCount())
	})
}
