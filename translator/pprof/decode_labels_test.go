// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestLabels checks the attributes for the labels of one sample.
func TestLabels(t *testing.T) {
	for name, test := range map[string]struct {
		labels []label
		want   string
	}{
		"text":                          {[]label{str("key", "value")}, `key="value"`},
		"empty text":                    {[]label{str("key", "")}, `key=""`},
		"number":                        {[]label{num("key", 5, "")}, `key=5`},
		"number with unit":              {[]label{num("key", 5, "bytes")}, `key=5 bytes`},
		"a unit as it stands":           {[]label{num("key", 5, "KiB per fortnight")}, `key=5 KiB per fortnight`},
		"extremes":                      {[]label{num("a", math.MinInt64, ""), num("b", math.MaxInt64, "u")}, `a=-9223372036854775808, b=9223372036854775807 u`},
		"zero":                          {[]label{num("key", 0, "")}, `key=0`},
		"zero with unit":                {[]label{num("key", 0, "bytes")}, `key=0 bytes`},
		"text and number":               {[]label{{key: "key", str: "value", isStr: true, num: 7, unit: "bytes"}}, `key="value"`},
		"empty key":                     {[]label{str("", "value")}, `="value"`},
		"several keys":                  {[]label{str("b", "1"), num("a", 2, ""), str("c", "3")}, `b="1", a=2, c="3"`},
		"several texts":                 {[]label{str("key", "b"), str("key", "a"), str("key", "b")}, `key=["b","a","b"]`},
		"several texts, one empty":      {[]label{str("key", ""), str("key", "a")}, `key=["","a"]`},
		"several numbers":               {[]label{num("key", 3, ""), num("key", -1, ""), num("key", 0, "")}, `key=[3,-1,0]`},
		"several of one unit":           {[]label{num("key", 3, "bytes"), num("key", 1, "bytes")}, `key=[3,1] bytes`},
		"units differ":                  {[]label{num("key", 3, "bytes"), num("key", 1, "kilobytes")}, `key=[{"unit":"bytes","value":3},{"unit":"kilobytes","value":1}]`},
		"one without unit":              {[]label{num("key", 3, "bytes"), num("key", 1, "")}, `key=[{"unit":"bytes","value":3},{"unit":"","value":1}]`},
		"both kinds":                    {[]label{num("key", 3, ""), str("key", "a"), num("key", 4, "")}, `key=[3,"a",4]`},
		"both kinds with a unit":        {[]label{str("key", "a"), num("key", 3, "bytes")}, `key=["a",3] bytes`},
		"both kinds with units":         {[]label{num("key", 3, "bytes"), str("key", "a"), num("key", 3, "s")}, `key=[{"unit":"bytes","value":3},{"value":"a"},{"unit":"s","value":3}]`},
		"keys in turns":                 {[]label{str("a", "1"), str("b", "2"), str("a", "3"), str("b", "4")}, `a=["1","3"], b=["2","4"]`},
		"the same twice is still twice": {[]label{str("a", "1"), str("a", "1")}, `a=["1","1"]`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...)
			assert.Equal(t, []string{"leaf 1 {" + test.want + "}"}, decode(t, p, pprof.DecodeOptions{}).samples(0))
		})
	}
}

// TestManyLabels: more labels than any producer writes, in any order. The order of the first values counts.
func TestManyLabels(t *testing.T) {
	var labels []label
	want := make([]string, 0, 200)
	for i := range 200 {
		labels = append(labels, num(fmt.Sprint("key", i), int64(i), ""))
	}
	for i := range 200 {
		key := 199 - i
		labels = append(labels, str(fmt.Sprint("key", key), "again"))
	}
	for i := range 200 {
		want = append(want, fmt.Sprintf(`key%d=[%d,"again"]`, i, i))
	}
	p := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, labels...)
	assert.Equal(t, []string{"leaf 1 {" + strings.Join(want, ", ") + "}"}, decode(t, p, pprof.DecodeOptions{}).samples(0))
}

// TestLabelsAreSets: samples with equal labels have the same attributes, whatever the order of the keys.
func TestLabelsAreSets(t *testing.T) {
	p := newPayload("cpu/ns").code().
		sample([]uint32{1}, []int64{1}, str("a", "1"), num("b", 2, "bytes")).
		sample([]uint32{2}, []int64{2}, num("b", 2, "bytes"), str("a", "1")).
		sample([]uint32{3}, []int64{3}, num("b", 2, "kilobytes"), str("a", "1"))
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{
		`leaf 1 {a="1", b=2 bytes}`, `middle 2 {a="1", b=2 bytes}`, `root 3 {a="1", b=2 kilobytes}`,
	}, d.samples(0))
	assert.Equal(t, 4, d.pd.Dictionary().AttributeTable().Len())
}

// TestLabelKeyZero: a key of 0 means string 0 if that is not empty, as Splunk's Python agent writes it. All other
// references to string 0 mean unset.
func TestLabelKeyZero(t *testing.T) {
	p := newPayload("cpu/ns").code()
	p.sample([]uint32{1}, []int64{1}, str("", "value"), str("key", "other"))
	p.table[0] = "source.event.time"
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{`leaf 1 {source.event.time="value", key="other"}`}, d.samples(0))
	assert.Equal(t, 1, d.stats.Repairs.FirstString)

	p = newPayload().code().sample([]uint32{1}, []int64{1}, num("key", 5, ""))
	p.body = pprofwire.AppendSampleType(p.body, pprofwire.ValueType{Unit: p.text("ns")})
	p.table[0] = "zero"
	d = decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{"/ns"}, d.types())
	assert.Equal(t, []string{`leaf 1 {key=5}`}, d.samples(0))
	assert.NotContains(t, d.pd.Dictionary().StringTable().AsRaw(), "zero")
}

// TestLabelsOfEqualText: a string that occurs twice in the table is added once.
func TestLabelsOfEqualText(t *testing.T) {
	p := newPayload("cpu/ns").code()
	first, second, value := p.text("key"), p.add("key"), p.text("value")
	labels := pprofwire.AppendLabel(nil, pprofwire.Label{Key: first, Str: value})
	labels = pprofwire.AppendLabel(labels, pprofwire.Label{Key: second, Str: p.add("value")})
	p.body = pprofwire.AppendSample(p.body, []byte{1}, []int64{1}, labels)
	assert.Equal(t, []string{`leaf 1 {key=["value","value"]}`}, decode(t, p, pprof.DecodeOptions{}).samples(0))

	p = newPayload("cpu/ns").code()
	a, b := p.text("bytes"), p.add("bytes")
	labels = pprofwire.AppendLabel(nil, pprofwire.Label{Key: p.text("key"), Num: 1, NumUnit: a})
	labels = pprofwire.AppendLabel(labels, pprofwire.Label{Key: p.text("key"), Num: 2, NumUnit: b})
	p.body = pprofwire.AppendSample(p.body, []byte{1}, []int64{1}, labels)
	assert.Equal(t, []string{`leaf 1 {key=[1,2] bytes}`}, decode(t, p, pprof.DecodeOptions{}).samples(0))
}

// TestThreadLabels: the labels of Datadog's profilers get the names and types of the semantic conventions, and encoding
// restores them.
func TestThreadLabels(t *testing.T) {
	for name, test := range map[string]struct {
		labels []label
		keep   bool
		want   string
		scope  map[string]any
	}{
		"both": {
			[]label{num("thread id", 7, ""), str("thread name", "main")},
			false, `thread.id=7, thread.name="main"`,
			map[string]any{"pprof.scope.thread_labels": true},
		},
		"with a unit": {
			[]label{num("thread id", 7, "id")}, false, `thread.id=7 id`, map[string]any{"pprof.scope.thread_labels": true},
		},
		"an id that is text": {
			[]label{str("thread id", "7 (12)"), str("thread name", "main")},
			false, `thread id="7 (12)", thread.name="main"`,
			map[string]any{"pprof.scope.thread_labels": true},
		},
		"a name that is a number": {
			[]label{num("thread name", 7, "")}, false, `thread name=7`, map[string]any{"pprof.scope.thread_labels": true},
		},
		"several": {
			[]label{num("thread id", 7, ""), num("thread id", 8, "")}, false, `thread id=[7,8]`, map[string]any{"pprof.scope.thread_labels": true},
		},
		"the other names as well": {
			[]label{num("thread id", 7, ""), num("thread.id", 8, "")}, false, `thread id=7, thread.id=8`, map[string]any{},
		},
		"the other names only": {[]label{num("thread.id", 8, "")}, false, `thread.id=8`, map[string]any{}},
		"not wanted": {
			[]label{num("thread id", 7, ""), str("thread name", "main")}, true, `thread id=7, thread name="main"`, map[string]any{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, test.labels...)
			options := pprof.DecodeOptions{KeepThreadLabels: test.keep}
			d := decode(t, p, options)
			assert.Equal(t, []string{"leaf 1 {" + test.want + "}"}, d.samples(0))
			assert.Equal(t, test.scope, d.scope().Scope().Attributes().AsRaw())
			want, form := profiletest.ParsePprof(p.bytes())
			assert.Equal(t, profiletest.Proto, form)
			roundTrip(t, want, p.bytes(), options)
		})
	}
}

// TestThreadLabelsAreKeys: strings with these names that are not label keys have no effect.
func TestThreadLabelsAreKeys(t *testing.T) {
	p := newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, str("a", "thread id"))
	d := decode(t, p, pprof.DecodeOptions{})
	assert.Empty(t, d.scope().Scope().Attributes().AsRaw())
	p = newPayload("cpu/ns").code().sample([]uint32{1}, []int64{1}, str("thread name", "thread.id"))
	d = decode(t, p, pprof.DecodeOptions{})
	assert.Equal(t, []string{`leaf 1 {thread.name="thread.id"}`}, d.samples(0))
}

// TestThreadAttributesOfOthers: attributes that do not replace Datadog's labels keep their names.
func TestThreadAttributesOfOthers(t *testing.T) {
	m := newMessage()
	m.sample(m.profile("a/1"), m.stack("f"), []int64{1}, m.attribute("thread.id", 7, ""), m.attribute("thread.name", "main", ""))
	all := encode(t, m.done(), pprof.EncodeOptions{})
	assert.Equal(t, []string{`f [1] thread.name=["main"] thread.id=[7]`}, all[0].samples())
}
