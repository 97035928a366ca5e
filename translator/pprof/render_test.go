// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// decoded is a valid message that can be rendered as text.
type decoded struct {
	pd    pprofile.Profiles
	stats pprof.DecodeStats
}

// decode decodes a payload and checks the message against OTLP's rules.
func decode(t *testing.T, p *payload, options pprof.DecodeOptions) decoded {
	t.Helper()
	return decodeFrom(t, p, options, pprof.Source{})
}

func decodeFrom(t *testing.T, p *payload, options pprof.DecodeOptions, src pprof.Source) decoded {
	t.Helper()
	pd, stats, err := pprof.NewDecoder(options).Decode(p.bytes(), src)
	require.NoError(t, err)
	check := asInPprof
	check.AllowUnreferencedMappings = options.KeepUnreferencedMappings
	require.NoError(t, check.Check(pd))
	require.Equal(t, 1, pd.ResourceProfiles().Len())
	require.Equal(t, 1, pd.ResourceProfiles().At(0).ScopeProfiles().Len())
	return decoded{pd, stats}
}

func (d decoded) scope() pprofile.ScopeProfiles {
	return d.pd.ResourceProfiles().At(0).ScopeProfiles().At(0)
}

func (d decoded) profile(i int) pprofile.Profile { return d.scope().Profiles().At(i) }

// types renders the sample types in their order.
func (d decoded) types() []string {
	var types []string
	for _, p := range d.scope().Profiles().All() {
		types = append(types, typeName(d.pd.Dictionary(), p.SampleType()))
	}
	return types
}

// samples renders the samples of profile i: leaf;root 5 {key="text", key=1 unit} -> trace/span.
func (d decoded) samples(i int) []string {
	shown := []string{}
	for _, s := range d.profile(i).Samples().All() {
		parts := []string{d.stack(s.StackIndex())}
		for _, v := range s.Values().All() {
			parts = append(parts, strconv.FormatInt(v, 10))
		}
		if attributes := d.attributes(s.AttributeIndices()); attributes != "" {
			parts = append(parts, "{"+attributes+"}")
		}
		if s.LinkIndex() != 0 {
			link := d.pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
			parts = append(parts, fmt.Sprintf("-> %x/%x", [16]byte(link.TraceID()), [8]byte(link.SpanID())))
		}
		shown = append(shown, strings.Join(parts, " "))
	}
	return shown
}

// stack renders each location as the name of its function, or as its address.
func (d decoded) stack(index int32) string {
	dict := d.pd.Dictionary()
	var locations []string
	for _, i := range dict.StackTable().At(int(index)).LocationIndices().All() {
		l := dict.LocationTable().At(int(i))
		name := fmt.Sprintf("%#x", l.Address())
		if l.Lines().Len() > 0 {
			name = d.text(dict.FunctionTable().At(int(l.Lines().At(0).FunctionIndex())).NameStrindex())
		}
		locations = append(locations, name)
	}
	return strings.Join(locations, ";")
}

func (d decoded) text(i int32) string { return d.pd.Dictionary().StringTable().At(int(i)) }

// attributes renders a list of attributes: key="text", key=5 unit.
func (d decoded) attributes(indices pcommon.Int32Slice) string {
	var shown []string
	for _, i := range indices.All() {
		kv := d.pd.Dictionary().AttributeTable().At(int(i))
		text := d.text(kv.KeyStrindex()) + "=" + showValue(kv.Value())
		if unit := d.text(kv.UnitStrindex()); unit != "" {
			text += " " + unit
		}
		shown = append(shown, text)
	}
	return strings.Join(shown, ", ")
}

func showValue(v pcommon.Value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return fmt.Sprintf("%q", v.Str())
	}
	return v.AsString()
}

// showMap renders the attributes of a resource or scope.
func showMap(m pcommon.Map) string {
	var shown []string
	for key, v := range m.All() {
		shown = append(shown, key+"="+showValue(v))
	}
	return strings.Join(shown, ", ")
}
