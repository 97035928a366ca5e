// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func number(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

func messageOf(to []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}

// snapshotOf returns a snapshot in which context 1 has these labels.
func snapshotOf(labels map[string]string) []byte {
	var snapshot, context []byte
	id := uint64(0)
	add := func(text string) uint64 {
		id++
		snapshot = messageOf(snapshot, snapshotStrings, messageOf(number(nil, entryKey, id), entryValue, []byte(text)))
		return id
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		context = messageOf(context, contextLabels, number(number(nil, entryKey, add(key)), entryValue, add(labels[key])))
	}
	return messageOf(snapshot, snapshotContexts, messageOf(number(nil, entryKey, 1), entryValue, context))
}

// TestLabels checks what becomes of the labels of a context.
func TestLabels(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, test := range map[string]struct {
		labels  map[string]string
		context jfrtest.Context
		opts    Options
		want    string
	}{
		"texts":          {labels: map[string]string{"a": "b", "region": "eu"}, want: "a=b region=eu |"},
		"a link":         {labels: map[string]string{"trace_id": trace, "span_id": span}, want: " | " + trace + "/" + span},
		"no links":       {labels: map[string]string{"trace_id": trace}, opts: Options{LinkLabels: []pprof.LinkLabels{}}, want: "trace_id=" + trace + " |"},
		"short ids":      {labels: map[string]string{"trace_id": "1", "span_id": "2"}, want: "span_id=2 trace_id=1 | 00000000000000000000000000000001/0000000000000002"},
		"Datadog's":      {labels: map[string]string{"trace id": trace, "span id": "10"}, want: "span id=10 trace id=" + trace + " | " + trace + "/000000000000000a"},
		"no ids":         {labels: map[string]string{"trace_id": "main", "span_id": span}, want: "span_id=" + span + " trace_id=main |"},
		"of the event":   {labels: map[string]string{"a": "b"}, context: jfrtest.Context{TraceLow: 1, Span: 2}, want: "a=b | 00000000000000000000000000000001/0000000000000002"},
		"of both":        {labels: map[string]string{"trace_id": trace, "span_id": span}, context: jfrtest.Context{TraceLow: 1, Span: 2}, want: "span_id.2=" + span + " trace_id.2=" + trace + " | 00000000000000000000000000000001/0000000000000002"},
		"of both, equal": {labels: map[string]string{"trace_id": trace, "span_id": span}, context: jfrtest.Context{TraceHigh: 0x0af7651916cd43dd, TraceLow: 0x8448eb211c80319c, Span: 0xb7ad6b7169203331}, want: " | " + trace + "/" + span},
		"of both, the same trace": {
			labels:  map[string]string{"trace_id": trace, "span_id": span},
			context: jfrtest.Context{TraceHigh: 0x0af7651916cd43dd, TraceLow: 0x8448eb211c80319c, Span: 2},
			want:    "span_id.2=" + span + " | " + trace + "/0000000000000002",
		},
		"of both, another form": {
			labels:  map[string]string{"trace_id": "0x" + strings.ToUpper(trace), "span_id": "3", "trace_id.2": "x"},
			context: jfrtest.Context{TraceLow: 1, Span: 2},
			want:    "span_id.2=3 trace_id.2=x trace_id.3=0x" + strings.ToUpper(trace) + " | 00000000000000000000000000000001/0000000000000002",
		},
		"other names": {
			labels: map[string]string{"tid": trace, "sid": span}, opts: Options{LinkLabels: []pprof.LinkLabels{{Trace: "tid", Span: "sid"}}},
			want: "sid=" + span + " tid=" + trace + " | " + trace + "/" + span,
		},
		"the default names, second": {
			labels: map[string]string{"trace_id": trace, "span_id": span}, opts: Options{LinkLabels: []pprof.LinkLabels{{Trace: "tid", Span: "sid"}, {Trace: "trace_id", Span: "span_id"}}},
			want: " | " + trace + "/" + span,
		},
		"a profile id":   {labels: map[string]string{"a": "b"}, context: jfrtest.Context{Span: 2}, want: "a=b profile_id=0000000000000002 |"},
		"name of a span": {labels: map[string]string{"a": "GET /"}, context: jfrtest.Context{Name: 2}, want: "a=GET / span_name=GET / |"},
		"a thread":       {labels: map[string]string{"thread.name": "x", "thread_name": "y"}, want: "thread_name=y |"},
		"an empty name":  {labels: map[string]string{"": "x", "empty": ""}, want: "empty= |"},
		"another twice":  {labels: map[string]string{"span_name": "x", "y": "z"}, context: jfrtest.Context{Name: 4}, want: "span_name=x y=z |"},
		"not UTF-8":      {labels: map[string]string{"a\xff": "b\xff"}, want: "a\uFFFD=b\uFFFD |"},
	} {
		t.Run(name, func(t *testing.T) {
			r := jfrtest.New()
			test.context.Context = 1
			r.ExecutionSample(1000, 0, r.Stack(false), 0, test.context)
			r.ExecutionSample(1000, 0, r.Stack(false), 0, jfrtest.Context{Context: 2})
			pd, _, err := NewDecoder(test.opts).Decode(r.Bytes(), Source{Labels: snapshotOf(test.labels)})
			require.NoError(t, err)
			require.NoError(t, profiletest.Check(pd))
			samples := samplesOf(pd, profilesOf(t, pd)["process_cpu samples/count"], jfrtest.Start)
			got := strings.TrimSuffix(strings.TrimPrefix(samples[0], " | "), " | 1@0")
			assert.Equal(t, test.want, strings.TrimSuffix(got, " "))
			assert.Equal(t, " |  | | 1@0", samples[1], "another context")
		})
	}
}

// TestOneContextWithAndWithoutOwnIDs: a context makes its link where an event has no ids, and attributes where it has others.
func TestOneContextWithAndWithoutOwnIDs(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	r := jfrtest.New()
	r.ExecutionSample(1000, 0, r.Stack(false), 0, jfrtest.Context{Context: 1})
	r.ExecutionSample(1000, 0, r.Stack(false), 0, jfrtest.Context{Context: 1, TraceLow: 1, Span: 2})
	snapshot := snapshotOf(map[string]string{"trace_id": trace, "span_id": span, "a": "b"})
	pd, _, err := NewDecoder(Options{}).Decode(r.Bytes(), Source{Labels: snapshot})
	require.NoError(t, err)
	require.NoError(t, profiletest.Check(pd))
	assert.Equal(t, []string{
		" | a=b | " + trace + "/" + span + " | 1@0",
		" | a=b span_id.2=" + span + " trace_id.2=" + trace + " | 00000000000000000000000000000001/0000000000000002 | 1@0",
	}, samplesOf(pd, profilesOf(t, pd)["process_cpu samples/count"], jfrtest.Start))
}

// TestBadLabels checks the errors for labels that cannot be read.
func TestBadLabels(t *testing.T) {
	many := map[string]string{}
	for i := range maxLabels + 1 {
		many[strconv.Itoa(i)] = "x"
	}
	for name, test := range map[string]struct {
		labels []byte
		want   error
		says   string
	}{
		"no proto":     {[]byte{0xff}, ErrMalformed, "cannot read the labels snapshot"},
		"no entry":     {messageOf(nil, snapshotStrings, []byte{0x0a, 0x05}), ErrMalformed, "cannot read the labels snapshot"},
		"no context":   {messageOf(nil, snapshotContexts, messageOf(nil, entryValue, []byte{0x0a, 0x05})), ErrMalformed, "cannot read the labels snapshot"},
		"many labels":  {snapshotOf(many), ErrTooLarge, "labels of a context: 129, the limit is 128"},
		"long string":  {snapshotOf(map[string]string{"a": strings.Repeat("x", 1<<20+1)}), ErrTooLarge, "bytes of a string of the labels"},
		"broken gzip":  {profiletest.Gzip(t, jfrtest.Labels())[:20], ErrMalformed, "inflate"},
		"large labels": {make([]byte, 64<<20+1), ErrTooLarge, "bytes of the labels"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := NewDecoder(Options{}).Decode(jfrtest.Example().Bytes(), Source{Labels: test.labels})
			require.ErrorIs(t, err, test.want)
			assert.ErrorContains(t, err, test.says)
			assert.NotEqual(t, errors.Is(err, ErrMalformed), errors.Is(err, ErrTooLarge))
		})
	}
	_, _, err := NewDecoder(Options{}).Decode(jfrtest.Example().Bytes(), Source{Labels: number(messageOf(nil, 9, []byte("new")), 8, 7)})
	assert.NoError(t, err, "unknown fields")
}
