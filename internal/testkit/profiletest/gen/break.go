// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
)

// Fault is one way to break a message.
type Fault struct {
	Name string
	// Index: the fault is an index out of range, so that the profile that leads there cannot be read in full.
	Index bool

	apply func(*breaker) bool
}

// indexFaults are the faults that are an index out of range.
var indexFaults = []struct {
	name  string
	apply func(b *breaker)
}{
	{"sample stack index", func(b *breaker) { b.sample.SetStackIndex(b.outside(b.dict.StackTable())) }},
	{"sample link index", func(b *breaker) { b.sample.SetLinkIndex(b.outside(b.dict.LinkTable())) }},
	{"sample attribute index", func(b *breaker) { b.sample.AttributeIndices().Append(b.outside(b.dict.AttributeTable())) }},
	{"profile attribute index", func(b *breaker) { b.profile.AttributeIndices().Append(b.outside(b.dict.AttributeTable())) }},
	{"sample type", func(b *breaker) { b.profile.SampleType().SetTypeStrindex(b.outsideString()) }},
	{"sample unit", func(b *breaker) { b.profile.SampleType().SetUnitStrindex(b.outsideString()) }},
	{"period type", func(b *breaker) { b.profile.PeriodType().SetTypeStrindex(b.outsideString()) }},
	{"period unit", func(b *breaker) { b.profile.PeriodType().SetUnitStrindex(b.outsideString()) }},
	{"stack's location index", func(b *breaker) { b.ownStack().LocationIndices().Append(b.outside(b.dict.LocationTable())) }},
	{"location's mapping index", func(b *breaker) { b.ownLocation().SetMappingIndex(b.outside(b.dict.MappingTable())) }},
	{"location's attribute index", func(b *breaker) { b.ownLocation().AttributeIndices().Append(b.outside(b.dict.AttributeTable())) }},
	{"line's function index", func(b *breaker) {
		b.ownLocation().Lines().AppendEmpty().SetFunctionIndex(b.outside(b.dict.FunctionTable()))
	}},
	{"function's name", func(b *breaker) { b.ownFunction().SetNameStrindex(b.outsideString()) }},
	{"function's system name", func(b *breaker) { b.ownFunction().SetSystemNameStrindex(b.outsideString()) }},
	{"function's file name", func(b *breaker) { b.ownFunction().SetFilenameStrindex(b.outsideString()) }},
	{"mapping's file name", func(b *breaker) { b.ownMapping().SetFilenameStrindex(b.outsideString()) }},
	{"mapping's attribute index", func(b *breaker) { b.ownMapping().AttributeIndices().Append(b.outside(b.dict.AttributeTable())) }},
	{"attribute's key", func(b *breaker) { b.ownAttribute().SetKeyStrindex(b.outsideString()) }},
	{"attribute's unit", func(b *breaker) { b.ownAttribute().SetUnitStrindex(b.outsideString()) }},
}

// Faults lists what [Break] can do.
func Faults() (faults []Fault) {
	for _, f := range indexFaults {
		faults = append(faults, Fault{f.name, true, func(b *breaker) bool { f.apply(b); return true }})
	}
	return append(faults, []Fault{
		{"key twice", false, func(b *breaker) bool {
			kv := b.dict.AttributeTable().AppendEmpty()
			kv.SetKeyStrindex(int32(b.dict.StringTable().Len()))
			b.dict.StringTable().Append("a key of its own")
			last := int32(b.dict.AttributeTable().Len() - 1)
			b.sample.AttributeIndices().Append(last, last)
			return true
		}},
		{"unequal lengths", false, func(b *breaker) bool {
			b.sample.Values().FromRaw([]int64{1, 2, 3})
			b.sample.TimestampsUnixNano().FromRaw([]uint64{uint64(b.profile.Time())})
			b.profile.SetDurationNano(max(1, b.profile.DurationNano()))
			return true
		}},
		{"neither values nor timestamps", false, func(b *breaker) bool {
			b.sample.Values().FromRaw(nil)
			b.sample.TimestampsUnixNano().FromRaw(nil)
			return true
		}},
		{"timestamp outside", false, func(b *breaker) bool {
			timestamps := b.sample.TimestampsUnixNano()
			if timestamps.Len() == 0 || b.profile.Time() == 0 {
				return false
			}
			timestamps.SetAt(0, uint64(b.profile.Time())-1)
			return true
		}},
		{"entry 0 is not zero", false, func(b *breaker) bool { b.dict.FunctionTable().At(0).SetStartLine(1); return true }},
		{"no entry 0", false, func(b *breaker) bool {
			b.dict.LinkTable().RemoveIf(func(pprofile.Link) bool { return true })
			return true
		}},
	}...)
}

// Break applies a fault to one sample of pd, or what it leads to, and tells whether it could: a message without samples
// cannot be broken. It returns the profile in which the fault lies.
func Break(pd pprofile.Profiles, fault Fault, random *rand.Rand) (pprofile.Profile, bool) {
	var candidates []*breaker
	for p := range walk.Profiles(pd) {
		for _, s := range p.Samples().All() {
			candidates = append(candidates, &breaker{random: random, dict: pd.Dictionary(), profile: p, sample: s})
		}
	}
	random.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	for _, b := range candidates {
		if fault.apply(b) {
			return b.profile, true
		}
	}
	return pprofile.Profile{}, false
}

// breaker is the sample that a fault is put into.
type breaker struct {
	random  *rand.Rand
	dict    pprofile.ProfilesDictionary
	profile pprofile.Profile
	sample  pprofile.Sample
}

// outside returns an index that a table does not have. Among them are those that the entries of a message behind it would get.
func (b *breaker) outside(table interface{ Len() int }) int32 {
	next := int32(max(1, table.Len())) // 0 is the zero value also where the table is empty
	return pick(b.random, []int32{-1, math.MinInt32, math.MaxInt32, 1 << 20, next, next + 1})
}

func (b *breaker) outsideString() int32 { return b.outside(b.dict.StringTable()) }

// ownStack gives the sample a stack that no other sample has.
func (b *breaker) ownStack() pprofile.Stack {
	stack := b.dict.StackTable().AppendEmpty()
	b.sample.SetStackIndex(int32(b.dict.StackTable().Len() - 1))
	return stack
}

// ownLocation gives the sample a stack of one location that no other sample has.
func (b *breaker) ownLocation() pprofile.Location {
	location := b.dict.LocationTable().AppendEmpty()
	b.ownStack().LocationIndices().Append(int32(b.dict.LocationTable().Len() - 1))
	return location
}

// ownFunction gives the sample a frame of a function that no other has.
func (b *breaker) ownFunction() pprofile.Function {
	b.ownLocation().Lines().AppendEmpty().SetFunctionIndex(int32(b.dict.FunctionTable().Len()))
	return b.dict.FunctionTable().AppendEmpty()
}

// ownMapping gives the sample a frame in a mapping that no other has.
func (b *breaker) ownMapping() pprofile.Mapping {
	b.ownLocation().SetMappingIndex(int32(b.dict.MappingTable().Len()))
	return b.dict.MappingTable().AppendEmpty()
}

// ownAttribute gives the sample an attribute that no other has.
func (b *breaker) ownAttribute() pprofile.KeyValueAndUnit {
	b.sample.AttributeIndices().Append(int32(b.dict.AttributeTable().Len()))
	return b.dict.AttributeTable().AppendEmpty()
}
