// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

const (
	// groupMemory is for a group of samples, with its places in lists. groupKeyMemory is for each attribute that it is grouped by.
	groupMemory    = 256
	groupKeyMemory = 128
)

// Memory estimates the additional memory of the message after Apply.
func (g *Grouping) Memory() int64 {
	total := int64(0)
	for i, resource := range g.pd.ResourceProfiles().All() {
		groups, samples := len(g.resources[i].groups), g.resources[i].samples
		each := dictionary.ResourceMemory(resource.Resource(), resource.SchemaUrl()) + groupMemory + len(g.keys)*groupKeyMemory
		total += int64(groups) * int64(each)
		inScope, inProfile := newGroupSet(groups), newGroupSet(groups)
		for _, scope := range resource.ScopeProfiles().All() {
			inScope.clear()
			for _, profile := range scope.Profiles().All() {
				inProfile.clear()
				n := profile.Samples().Len()
				for _, group := range samples[:n] {
					inProfile.add(group)
					inScope.add(group)
				}
				samples = samples[n:]
				total += int64(inProfile.n) * int64(dictionary.ProfileMemory+4*profile.AttributeIndices().Len())
				if inProfile.n > 0 {
					total += int64(n) * dictionary.PointerSize
				}
			}
			total += int64(inScope.n) * int64(dictionary.ScopeMemory(scope.Scope(), scope.SchemaUrl()))
		}
	}
	return total
}

// groupSet is a set of groups. The time to clear it does not depend on the number of groups.
type groupSet struct {
	// addedIn has, for each group, the last round in which it was added. Each clear begins a round.
	addedIn []int32
	round   int32
	n       int
}

func newGroupSet(groups int) *groupSet { return &groupSet{addedIn: make([]int32, groups+1)} }

func (s *groupSet) clear() { s.round, s.n = s.round+1, 0 }

// add adds a group and reports whether it is new. It ignores 0, which means no group.
func (s *groupSet) add(group int32) bool {
	if group == 0 || s.addedIn[group] == s.round {
		return false
	}
	s.addedIn[group] = s.round
	s.n++
	return true
}

// Apply moves the samples as planned. pd must not be read-only. It divides a profile with samples of several groups: samples that
// stay keep the id of the profile. Each other part gets an id derived from that. Unless all of a scope goes to one group, its profiles lose
// their original payload: it can be that of several profiles, and has the samples of all groups.
func (g *Grouping) Apply() {
	resources := g.pd.ResourceProfiles()
	for i, planned := range g.resources {
		if len(planned.groups) > 0 {
			g.applyTo(resources.At(i), planned)
		}
	}
	DropEmpty(g.pd)
}

func (g *Grouping) applyTo(resource pprofile.ResourceProfiles, planned groupedResource) {
	targets := make([]pprofile.ResourceProfiles, len(planned.groups))
	for i, group := range planned.groups {
		targets[i] = g.pd.ResourceProfiles().AppendEmpty()
		resource.Resource().CopyTo(targets[i].Resource())
		targets[i].SetSchemaUrl(resource.SchemaUrl())
		g.putAttributes(targets[i].Resource().Attributes(), group)
	}
	scopes := make([]pprofile.ScopeProfiles, len(targets))
	profiles := make([]pprofile.Profile, len(targets))
	inScope, inProfile := newGroupSet(len(targets)), newGroupSet(len(targets))
	samples := planned.samples
	for _, scope := range resource.ScopeProfiles().All() {
		inScope.clear()
		if isSplit(scope, samples) {
			dropPayloads(scope)
		}
		scope.Profiles().RemoveIf(func(profile pprofile.Profile) bool {
			inProfile.clear()
			of := samples[:profile.Samples().Len()]
			samples = samples[len(of):]
			for _, group := range of {
				if inScope.add(group) {
					scopes[group-1] = targets[group-1].ScopeProfiles().AppendEmpty()
					scope.Scope().CopyTo(scopes[group-1].Scope())
					scopes[group-1].SetSchemaUrl(scope.SchemaUrl())
				}
				if inProfile.add(group) {
					profiles[group-1] = scopes[group-1].Profiles().AppendEmpty()
				}
			}
			return g.moveSamples(profile, of, planned.groups, profiles)
		})
	}
}

// isSplit reports whether parts of a scope get different resources. samples begins with the groups of the samples of the
// scope. A profile without samples stays in its resource.
func isSplit(scope pprofile.ScopeProfiles, samples []int32) bool {
	n, empty := 0, false
	for _, profile := range scope.Profiles().All() {
		n += profile.Samples().Len()
		empty = empty || profile.Samples().Len() == 0
	}
	of := samples[:n]
	return !isOneGroup(of) || empty && n > 0 && of[0] != 0
}

// dropPayloads removes the original payloads of the profiles of a scope.
func dropPayloads(scope pprofile.ScopeProfiles) {
	for _, profile := range scope.Profiles().All() {
		profile.OriginalPayload().FromRaw(nil)
		profile.SetOriginalPayloadFormat("")
	}
}

// putAttributes gives a resource the attributes of a group. They replace those with the same keys.
func (g *Grouping) putAttributes(attributes pcommon.Map, group groupValues) {
	for key, name := range g.keys {
		value := binary.BigEndian.Uint32([]byte(group[4*key:]))
		if value != 0 {
			g.pd.Dictionary().AttributeTable().At(int(g.attributeOf[value])).Value().CopyTo(attributes.PutEmpty(name))
		}
	}
}

// moveSamples moves the samples of a profile to the profiles of their groups. It reports whether no sample is left.
func (g *Grouping) moveSamples(profile pprofile.Profile, of []int32, groups []groupValues, targets []pprofile.Profile) bool {
	if len(of) == 0 {
		return false
	}
	if isOneGroup(of) {
		if of[0] == 0 {
			return false
		}
		for _, sample := range profile.Samples().All() {
			g.dropMoved(sample)
		}
		profile.MoveTo(targets[of[0]-1])
		return true
	}
	profile.Samples().RemoveIf(func(sample pprofile.Sample) bool {
		group := of[0]
		of = of[1:]
		if group == 0 {
			return false
		}
		target := targets[group-1]
		if target.Samples().Len() == 0 {
			copyHeader(target, profile)
			target.SetProfileID(deriveID(profile.ProfileID(), g.identity(groups[group-1])))
		}
		g.dropMoved(sample)
		sample.MoveTo(target.Samples().AppendEmpty())
		return true
	})
	return profile.Samples().Len() == 0
}

// identity returns bytes that are equal for equal values of a group, whatever their numbers are in this message: another message
// with the same profile can have another attribute table.
func (g *Grouping) identity(group groupValues) []byte {
	all := make([]byte, 0, len(g.keys)*sha256.Size)
	for key := range g.keys {
		digest := g.digest(int32(binary.BigEndian.Uint32([]byte(group[4*key:]))))
		all = append(all, digest[:]...)
	}
	return all
}

// digest returns the hash of the key and the value with a number, or zeros for the number 0.
func (g *Grouping) digest(number int32) (digest [sha256.Size]byte) {
	if number == 0 {
		return digest
	}
	if known, found := g.digests[number]; found {
		return known
	}
	content := dictionary.NewAttribute(g.keyOf[number], 0, g.pd.Dictionary().AttributeTable().At(int(g.attributeOf[number])).Value())
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %d %d ", g.keys[content.Key], content.Kind, content.Number)
	_, _ = io.WriteString(hash, content.Text)
	hash.Sum(digest[:0])
	scratch.Store(&g.digests, number, digest)
	return digest
}

func isOneGroup(of []int32) bool {
	for _, group := range of {
		if group != of[0] {
			return false
		}
	}
	return true
}

// dropMoved removes from a sample the attributes that were moved to its resource.
func (g *Grouping) dropMoved(sample pprofile.Sample) {
	sample.AttributeIndices().RemoveIf(func(i int32) bool { return g.values[i] != 0 })
}
