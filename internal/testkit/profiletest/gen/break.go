// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Fault is one way to break a message.
type Fault struct {
	Name string
	// Index: the fault is an index out of range, so that the profile that leads there cannot be read in full.
	Index bool

	apply func(*breaker) bool
}

// Faults lists what [Break] can do.
func Faults() []Fault {
	return []Fault{
		{"sample stack index", true, func(b *breaker) bool { b.sample.SetStackIndex(b.outside(b.dict.StackTable())); return true }},
		{"sample link index", true, func(b *breaker) bool { b.sample.SetLinkIndex(b.outside(b.dict.LinkTable())); return true }},
		{"sample attribute index", true, func(b *breaker) bool {
			b.sample.AttributeIndices().Append(b.outside(b.dict.AttributeTable()))
			return true
		}},
		{"profile attribute index", true, func(b *breaker) bool {
			b.profile.AttributeIndices().Append(b.outside(b.dict.AttributeTable()))
			return true
		}},
		{"sample type", true, func(b *breaker) bool {
			b.profile.SampleType().SetTypeStrindex(b.outside(b.dict.StringTable()))
			return true
		}},
		{"period unit", true, func(b *breaker) bool {
			b.profile.PeriodType().SetUnitStrindex(b.outside(b.dict.StringTable()))
			return true
		}},
		{"stack's location index", true, func(b *breaker) bool {
			stack := b.ownStack()
			stack.LocationIndices().Append(b.outside(b.dict.LocationTable()))
			return true
		}},
		{"location's mapping index", true, func(b *breaker) bool { b.ownLocation().SetMappingIndex(b.outside(b.dict.MappingTable())); return true }},
		{"location's attribute index", true, func(b *breaker) bool {
			b.ownLocation().AttributeIndices().Append(b.outside(b.dict.AttributeTable()))
			return true
		}},
		{"line's function index", true, func(b *breaker) bool {
			b.ownLocation().Lines().AppendEmpty().SetFunctionIndex(b.outside(b.dict.FunctionTable()))
			return true
		}},
		{"function's name", true, func(b *breaker) bool {
			f := b.dict.FunctionTable().AppendEmpty()
			f.SetNameStrindex(b.outside(b.dict.StringTable()))
			b.ownLocation().Lines().AppendEmpty().SetFunctionIndex(int32(b.dict.FunctionTable().Len() - 1))
			return true
		}},
		{"mapping's file name", true, func(b *breaker) bool {
			b.dict.MappingTable().AppendEmpty().SetFilenameStrindex(b.outside(b.dict.StringTable()))
			b.ownLocation().SetMappingIndex(int32(b.dict.MappingTable().Len() - 1))
			return true
		}},
		{"attribute's key", true, func(b *breaker) bool {
			b.dict.AttributeTable().AppendEmpty().SetKeyStrindex(b.outside(b.dict.StringTable()))
			b.sample.AttributeIndices().Append(int32(b.dict.AttributeTable().Len() - 1))
			return true
		}},
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
	}
}

// Break applies a fault to one sample of pd, or what it leads to, and tells whether it could: a message without samples
// cannot be broken. It returns the profile in which the fault lies.
func Break(pd pprofile.Profiles, fault Fault, random *rand.Rand) (pprofile.Profile, bool) {
	var candidates []*breaker
	for _, rp := range pd.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				for _, s := range p.Samples().All() {
					candidates = append(candidates, &breaker{random: random, dict: pd.Dictionary(), profile: p, sample: s})
				}
			}
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
