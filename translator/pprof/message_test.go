// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// message builds an OTLP message for a test.
type message struct {
	pd   pprofile.Profiles
	dict *dictionary.Builder
}

// newMessage returns a message with one resource and one scope.
func newMessage() *message {
	m := &message{pd: pprofile.NewProfiles(), dict: dictionary.New()}
	m.addResource("checkout")
	return m
}

// addResource adds a resource with one scope.
func (m *message) addResource(service string) pprofile.ScopeProfiles {
	rp := m.pd.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("service.name", service)
	return rp.ScopeProfiles().AppendEmpty()
}

func (m *message) scope() pprofile.ScopeProfiles {
	return m.pd.ResourceProfiles().At(0).ScopeProfiles().At(0)
}

// profile adds a profile to the first scope.
func (m *message) profile(sampleType string) pprofile.Profile {
	return m.profileIn(m.scope(), sampleType)
}

func (m *message) profileIn(scope pprofile.ScopeProfiles, sampleType string) pprofile.Profile {
	p := scope.Profiles().AppendEmpty()
	m.setType(p.SampleType(), sampleType)
	return p
}

func (m *message) setType(v pprofile.ValueType, name string) {
	kind, unit, _ := strings.Cut(name, "/")
	v.SetTypeStrindex(m.dict.String(kind))
	v.SetUnitStrindex(m.dict.String(unit))
}

// stack returns the index of a stack of functions, the leaf first.
func (m *message) stack(names ...string) int32 {
	var locations []int32
	for _, name := range names {
		f := m.dict.Function(dictionary.Function{Name: m.dict.String(name)})
		locations = append(locations, m.dict.Location(dictionary.Location{}, []dictionary.Line{{Function: f}}, nil))
	}
	return m.dict.Stack(locations)
}

// attribute returns the index of an attribute. value has one of Go's own types.
func (m *message) attribute(key string, value any, unit string) int32 {
	v := pcommon.NewValueEmpty()
	if err := v.FromRaw(value); err != nil {
		panic(err)
	}
	return m.dict.Attribute(m.dict.String(key), m.dict.String(unit), v)
}

// sample adds a sample with values.
func (m *message) sample(p pprofile.Profile, stack int32, values []int64, attributes ...int32) pprofile.Sample {
	s := p.Samples().AppendEmpty()
	s.SetStackIndex(stack)
	s.Values().FromRaw(values)
	s.AttributeIndices().FromRaw(attributes)
	return s
}

// done returns the message with its dictionary.
func (m *message) done() pprofile.Profiles {
	d := pprofile.NewProfilesDictionary()
	m.dict.WriteTo(d)
	d.CopyTo(m.pd.Dictionary())
	return m.pd
}

// encoded is the result for one group.
type encoded struct {
	pprof.Payload
	parsed *profile.Profile
}

// encode encodes a message without errors. google/pprof must accept every pprof.
func encode(t *testing.T, pd pprofile.Profiles, options pprof.EncodeOptions) []encoded {
	t.Helper()
	all, faults := encodeWithFaults(t, pd, options)
	require.Empty(t, faults)
	return all
}

func encodeWithFaults(t *testing.T, pd pprofile.Profiles, options pprof.EncodeOptions) (all []encoded, faults []*pprof.ProfileError) {
	t.Helper()
	before := profiletest.Marshal(t, pd)
	for payload, err := range pprof.NewEncoder(options).All(pd) {
		if err != nil {
			var fault *pprof.ProfileError
			require.ErrorAs(t, err, &fault)
			require.Zero(t, payload)
			faults = append(faults, fault)
			continue
		}
		parsed, form := profiletest.ParsePprof(payload.Pprof)
		require.Equal(t, profiletest.Proto, form)
		require.Len(t, parsed.Sample, payload.Samples)
		var types []pprof.SampleType
		for _, of := range parsed.SampleType {
			types = append(types, pprof.SampleType{Name: of.Type, Unit: of.Unit})
		}
		require.ElementsMatch(t, types, payload.SampleTypes)
		require.True(t, slices.Equal(types, payload.SampleTypes), "in order")
		payload.Pprof = bytes.Clone(payload.Pprof)
		all = append(all, encoded{payload, parsed})
	}
	require.Equal(t, before, profiletest.Marshal(t, pd), "the message was changed")
	return all, faults
}

// types renders the sample types in pprof's order.
func (e encoded) types() []string {
	types := []string{}
	for _, v := range e.parsed.SampleType {
		types = append(types, v.Type+"/"+v.Unit)
	}
	return types
}

// samples renders the samples: leaf;root [5 6] key=["text"] key=[1] bytes.
func (e encoded) samples() []string {
	shown := []string{}
	for _, s := range e.parsed.Sample {
		var stack []string
		for _, l := range s.Location {
			if len(l.Line) > 0 {
				stack = append(stack, l.Line[0].Function.Name)
			} else {
				stack = append(stack, fmt.Sprintf("%#x", l.Address))
			}
		}
		parts := []string{strings.Join(stack, ";"), fmt.Sprint(s.Value)}
		for _, key := range slices.Sorted(maps.Keys(s.Label)) {
			parts = append(parts, fmt.Sprintf("%s=%q", key, s.Label[key]))
		}
		for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
			text := fmt.Sprintf("%s=%d", key, s.NumLabel[key])
			if units := s.NumUnit[key]; len(units) > 0 {
				text += fmt.Sprintf(" %q", units)
			}
			parts = append(parts, text)
		}
		shown = append(shown, strings.Join(parts, " "))
	}
	return shown
}
