// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// FuzzEncodeSize: a pprof is never larger than the size that was computed for it. This size is at most eight times the
// actual one, apart from a few bytes. The reserved output has at least that size; it is larger after a larger pprof. The
// pprofs of a message together are within the limit. No more memory is used than was reserved, and that is proportional to
// the message and the limit.
//
// go test -fuzz FuzzEncodeSize -fuzztime 1000000x ./translator/pprof.
func FuzzEncodeSize(f *testing.F) {
	for _, pd := range sizeSeeds() {
		content := must.Get((&pprofile.ProtoMarshaler{}).MarshalProfiles(pd))(f)
		f.Add(content, false)
		f.Add(content, true)
	}
	f.Fuzz(func(t *testing.T, content []byte, events bool) {
		pd, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(content)
		if err != nil || len(content) > 8<<10 {
			return
		}
		const limit = 64 << 10
		granted := int64(0)
		x := newEncoding()
		opts := NewEncoder(EncodeOptions{PprofBytes: limit, TimestampLabels: events, ResourceComments: true}).opts
		total := 0
		x.memory = encodeMemory{*meter.New(0, func(bytes int64) error { granted = bytes; return nil })}
		x.encode(&opts, pd, func(payload Payload, err error) bool {
			if err != nil {
				return true
			}
			require.LessOrEqual(t, len(payload.Pprof), x.needed)
			require.LessOrEqual(t, x.needed, 8*len(payload.Pprof)+256)
			require.LessOrEqual(t, x.needed, x.outLargest)
			total += len(payload.Pprof)
			x.out, x.outLargest = nil, 0 // so that each message reserves anew
			return true
		})
		require.LessOrEqual(t, total, limit)
		require.LessOrEqual(t, int64(x.kept()), granted)
		require.LessOrEqual(t, granted, int64(1<<20+512*len(content)+16*limit))
	})
}

// sizeSeeds returns small messages with large pprofs.
func sizeSeeds() []pprofile.Profiles {
	build := func(fill func(d *dictionary.Builder, scope pprofile.ScopeProfiles)) pprofile.Profiles {
		pd, d := pprofile.NewProfiles(), dictionary.New()
		fill(d, pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty())
		tables := pprofile.NewProfilesDictionary()
		d.WriteTo(tables)
		tables.CopyTo(pd.Dictionary())
		return pd
	}
	stack := func(d *dictionary.Builder, n int) int32 {
		function := d.Function(dictionary.Function{Name: d.String("name"), StartLine: -1})
		line := dictionary.Line{Function: function, Line: -1, Column: -1}
		location := d.Location(dictionary.Location{Address: 1<<64 - 1}, []dictionary.Line{line, line}, nil)
		locations := make([]int32, n)
		for i := range locations {
			locations[i] = location
		}
		return d.Stack(locations)
	}
	return []pprofile.Profiles{
		build(func(d *dictionary.Builder, scope pprofile.ScopeProfiles) { // one stack, many samples
			p, long := scope.Profiles().AppendEmpty(), stack(d, 300)
			for i := range 100 {
				s := p.Samples().AppendEmpty()
				s.SetStackIndex(long)
				s.AttributeIndices().Append(d.IntAttribute(d.String("n"), d.String("unit"), int64(-i)))
				s.Values().Append(-1)
			}
		}),
		build(func(d *dictionary.Builder, scope pprofile.ScopeProfiles) { // one stack, many pprofs
			long := stack(d, 300)
			scope.Profiles().AppendEmpty().SetTime(1000) // much smaller than the others
			for i := range 50 {
				p := scope.Profiles().AppendEmpty()
				p.SetTime(pcommon.Timestamp(i + 1))
				p.Samples().AppendEmpty().SetStackIndex(long)
			}
		}),
		build(func(d *dictionary.Builder, scope pprofile.ScopeProfiles) { // many types, events and links
			for i := range 40 {
				p := scope.Profiles().AppendEmpty()
				p.SampleType().SetTypeStrindex(d.String(string(rune('a' + i))))
				s := p.Samples().AppendEmpty()
				s.SetLinkIndex(d.Link(dictionary.Link{TraceID: pcommon.TraceID{byte(i + 1)}, SpanID: pcommon.SpanID{1}}))
				s.TimestampsUnixNano().Append(1, 2, 1<<62)
			}
		}),
		build(func(d *dictionary.Builder, scope pprofile.ScopeProfiles) { // an array
			value := pcommon.NewValueSlice()
			for range 100 {
				value.Slice().AppendEmpty().SetInt(-1)
			}
			p := scope.Profiles().AppendEmpty()
			list := d.Attribute(d.String("list"), 0, value)
			for i := range 20 {
				p.Samples().AppendEmpty().AttributeIndices().Append(list, d.IntAttribute(d.String("n"), 0, int64(i)))
			}
			p.AttributeIndices().Append(list, d.Attribute(d.String(semconv.ProfileComment), 0, value))
		}),
	}
}
