// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestSampleTypes: the default type comes first, the others keep their order. If there are several, the scope has the
// original order.
func TestSampleTypes(t *testing.T) {
	for name, test := range map[string]struct {
		types         []string
		defaultType   string
		stands        []pprof.ValueType
		want          []string
		wantAttribute string
	}{
		"one":               {types: []string{"cpu/ns"}, want: []string{"cpu/ns"}},
		"last is default":   {types: []string{"a/1", "b/2", "c/3"}, want: []string{"c/3", "a/1", "b/2"}, wantAttribute: "pprof.scope.sample_type_order=[2,0,1]"},
		"first is default":  {types: []string{"a/1", "b/2"}, defaultType: "a", want: []string{"a/1", "b/2"}, wantAttribute: `pprof.scope.sample_type_order=[0,1], pprof.scope.default_sample_type="a"`},
		"middle is default": {types: []string{"a/1", "b/2", "c/3"}, defaultType: "b", want: []string{"b/2", "a/1", "c/3"}, wantAttribute: `pprof.scope.sample_type_order=[1,0,2], pprof.scope.default_sample_type="b"`},
		"unknown default":   {types: []string{"a/1", "b/2"}, defaultType: "x", want: []string{"b/2", "a/1"}, wantAttribute: `pprof.scope.sample_type_order=[1,0], pprof.scope.default_sample_type="x"`},
		"default of one":    {types: []string{"a/1"}, defaultType: "a", want: []string{"a/1"}, wantAttribute: `pprof.scope.default_sample_type="a"`},
		"a type twice":      {types: []string{"a/1", "a/1"}, want: []string{"a/1", "a/1"}, wantAttribute: "pprof.scope.sample_type_order=[1,0]"},
		"none":              {want: []string{"/"}},
		"none, but named":   {stands: []pprof.ValueType{{Type: "cpu", Unit: "ns"}}, want: []string{"cpu/ns"}},
		"named in vain":     {types: []string{"a/1"}, stands: []pprof.ValueType{{Type: "cpu", Unit: "ns"}}, want: []string{"a/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload(test.types...)
			p.header(pprofwire.Header{DefaultSampleType: p.text(test.defaultType)})
			d := decodeFrom(t, p, pprof.DecodeOptions{}, pprof.Source{SampleTypes: test.stands})
			assert.Equal(t, test.want, d.types())
			assert.Equal(t, test.wantAttribute, showMap(d.scope().Scope().Attributes()))
		})
	}
}

// TestValues: a value is in the profile of its type. A zero is left out, unless the sample has no other value: then it is
// in the first profile.
func TestValues(t *testing.T) {
	p := func() *payload {
		return newPayload("a/1", "b/2", "c/3").code().
			sample([]uint32{1}, []int64{1, 2, 3}).
			sample([]uint32{2}, []int64{4, 0, 0}).
			sample([]uint32{3}, []int64{0, 0, 0}).
			sample([]uint32{1, 2}, []int64{0, -5, 6}).
			sample([]uint32{2, 3}, nil).
			sample(nil, []int64{0, 7, 0})
	}
	d := decode(t, p(), pprof.DecodeOptions{})
	assert.Equal(t, []string{"c/3", "a/1", "b/2"}, d.types())
	assert.Equal(t, []string{"leaf 3", "root 0", "leaf;middle 6", "middle;root 0"}, d.samples(0))
	assert.Equal(t, []string{"leaf 1", "middle 4"}, d.samples(1))
	assert.Equal(t, []string{"leaf 2", "leaf;middle -5", " 7"}, d.samples(2))
	assert.Equal(t, 6, d.stats.Samples)
	assert.Equal(t, 9, d.stats.OTLPSamples)

	d = decode(t, p(), pprof.DecodeOptions{KeepZeroValues: true})
	assert.Equal(t, []string{"leaf 3", "middle 0", "root 0", "leaf;middle 6", "middle;root 0", " 0"}, d.samples(0))
	assert.Equal(t, []string{"leaf 1", "middle 4", "root 0", "leaf;middle 0", "middle;root 0", " 0"}, d.samples(1))
	assert.Equal(t, []string{"leaf 2", "middle 0", "root 0", "leaf;middle -5", "middle;root 0", " 7"}, d.samples(2))
	assert.Equal(t, 18, d.stats.OTLPSamples)
}

// TestValuesOfOneType: with one type, zeros are kept, and equal samples are not combined.
func TestValuesOfOneType(t *testing.T) {
	p := newPayload("a/1").code().
		sample([]uint32{1}, []int64{0}).sample([]uint32{1}, []int64{5}).sample([]uint32{1}, []int64{5})
	assert.Equal(t, []string{"leaf 0", "leaf 5", "leaf 5"}, decode(t, p, pprof.DecodeOptions{}).samples(0))
}

// TestNoSampleTypes: values without sample types get as many unnamed types as needed.
func TestNoSampleTypes(t *testing.T) {
	p := newPayload().code().sample([]uint32{1}, []int64{1, 2}).sample([]uint32{2}, []int64{3, 4})
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{"/", "/"}, d.types())
	assert.Equal(t, []string{"leaf 2", "middle 4"}, d.samples(0))
	assert.Equal(t, []string{"leaf 1", "middle 3"}, d.samples(1))
	assert.Equal(t, "pprof.scope.sample_type_order=[1,0]", showMap(d.scope().Scope().Attributes()))
	assert.Equal(t, 1, d.stats.Repairs.NoSampleType)
}

// TestForms: plain, gzip, zstd and nested forms are the same payload.
func TestForms(t *testing.T) {
	plain := newPayload("cpu/ns").code().sample([]uint32{1, 2}, []int64{5}).header(pprofwire.Header{TimeNanos: 1}).bytes()
	writer := must.Get(zstd.NewWriter(nil))(t)
	defer writer.Close()
	gz := must.Get(pprof.AppendGzip(nil, plain, 0))(t)
	zs := writer.EncodeAll(plain, nil)
	both := must.Get(pprof.AppendGzip(nil, zs, 1))(t)

	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	largest := map[string]int{"plain": len(plain), "gzip": len(plain), "zstd": len(plain), "zstd in gzip": max(len(plain), len(zs))}
	for name, form := range map[string][]byte{"plain": plain, "gzip": gz, "zstd": zs, "zstd in gzip": both} {
		before := bytes.Clone(form)
		pd, stats, err := decoder.Decode(form, pprof.Source{})
		require.NoError(t, err, name)
		assert.Equal(t, before, form, "the payload was changed")
		assert.Equal(t, largest[name], stats.InflatedBytes, name)
		// The message shares no memory with the payload.
		made := profiletest.Marshal(t, pd)
		clear(form)
		assert.Equal(t, made, profiletest.Marshal(t, pd), name)
		assert.Equal(t, []string{"leaf;middle 5"}, decoded{pd, stats}.samples(0), name)
	}
}

// TestSource: resource, scope and name come from the source.
func TestSource(t *testing.T) {
	resource := pcommon.NewMap()
	resource.PutStr("service.name", "checkout")
	resource.PutInt("process.pid", 7)
	p := newPayload("cpu/ns", "wall/ns").code().sample([]uint32{1}, []int64{5, 6})
	d := decodeFrom(t, p, pprof.DecodeOptions{}, pprof.Source{
		Resource: resource, ScopeName: "scope", ScopeVersion: "v1", ProfileName: "mutex",
	})
	rp := d.pd.ResourceProfiles().At(0)
	assert.Equal(t, `service.name="checkout", process.pid=7`, showMap(rp.Resource().Attributes()))
	assert.Equal(t, "https://opentelemetry.io/schemas/1.41.0", rp.SchemaUrl())
	assert.Equal(t, "https://opentelemetry.io/schemas/1.41.0", d.scope().SchemaUrl())
	assert.Equal(t, "scope", d.scope().Scope().Name())
	assert.Equal(t, "v1", d.scope().Scope().Version())
	for i := range 2 {
		assert.Equal(t, `profile.name="mutex"`, d.attributes(d.profile(i).AttributeIndices()))
	}
	resource.PutStr("service.name", "changed")
	assert.Equal(t, `service.name="checkout", process.pid=7`, showMap(rp.Resource().Attributes()), "the resource is a copy")

	none := decode(t, newPayload("cpu/ns"), pprof.DecodeOptions{})
	assert.Empty(t, showMap(none.pd.ResourceProfiles().At(0).Resource().Attributes()))
	assert.Zero(t, none.profile(0).AttributeIndices().Len())
}

// TestProfileIDs: a repeated payload gets the same ids, any other payload gets other ids.
func TestProfileIDs(t *testing.T) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	build := func(time int64) []byte {
		return newPayload("a/1", "b/2", "b/2").code().sample([]uint32{1}, []int64{5, 6, 7}).header(pprofwire.Header{TimeNanos: time}).bytes()
	}
	ids := func(raw []byte, service string) (ids []pprofile.ProfileID) {
		resource := pcommon.NewMap()
		resource.PutStr("service.name", service)
		pd, _, err := decoder.Decode(raw, pprof.Source{Resource: resource})
		require.NoError(t, err)
		for _, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
			ids = append(ids, p.ProfileID())
		}
		require.Len(t, ids, 3)
		return ids
	}
	first := ids(build(1), "checkout")
	assert.Equal(t, first, ids(build(1), "checkout"))
	timeless := ids(build(0), "checkout")
	assert.Equal(t, timeless, ids(build(0), "checkout"), "also without a time")
	seen := map[pprofile.ProfileID]bool{}
	for _, list := range [][]pprofile.ProfileID{
		first, ids(build(1), "cart"), ids(build(2), "checkout"), timeless, ids(build(0), "cart"),
	} {
		for _, id := range list {
			assert.False(t, id.IsEmpty())
			assert.False(t, seen[id], "two profiles of one id")
			seen[id] = true
		}
	}
}
