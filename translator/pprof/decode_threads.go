// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// The labels in which Datadog's profilers name a thread.
const (
	labelThreadID   = "thread id"
	labelThreadName = "thread name"
)

// usesThreadLabels tells whether the payload has labels of Datadog's for threads, which then get the names of the conventions.
// Where it has those as well, it would not be known on the way back which label an attribute was.
func (t *decoding) usesThreadLabels() bool {
	if t.opts.KeepThreadLabels || len(t.wire.Labels) == 0 {
		return false
	}
	for i := range uint32(t.wire.NumStrings()) {
		if conventionalName(string(t.wire.String(i))) != "" {
			return t.hasThreadLabels()
		}
	}
	return false
}

// hasThreadLabels looks at the keys of all labels.
func (t *decoding) hasThreadLabels() (found bool) {
	for i := range t.wire.Labels {
		switch string(t.wire.String(t.wire.Labels[i].Key)) {
		case labelThreadID, labelThreadName:
			found = true
		case semconv.ThreadID, semconv.ThreadName:
			return false
		}
	}
	return found
}

// conventionalName returns the name of the conventions for a label of Datadog's, or "".
func conventionalName(label string) string {
	switch label {
	case labelThreadID:
		return semconv.ThreadID
	case labelThreadName:
		return semconv.ThreadName
	default:
		return ""
	}
}

// isConventional tells whether a label has the kind that the conventions want: an id is a number, a name a text. Ruby's and
// .NET's profilers write texts for ids.
func (k *labelKey) isConventional(l *pprofwire.Label) bool {
	return k.conventional != "" && (k.conventional == semconv.ThreadID) == (l.Str == 0)
}
