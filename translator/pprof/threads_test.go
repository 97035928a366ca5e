// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

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
