// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// The labels with which Datadog's profilers identify a thread.
const (
	labelThreadID   = "thread id"
	labelThreadName = "thread name"
)

// usesThreadLabels reports whether the payload has Datadog's thread labels, so that they get the names of the semantic
// conventions. If it also has labels with these names, an Encoder could not restore both; then all labels stay.
func (t *decoding) usesThreadLabels() (found bool) {
	if t.opts.KeepThreadLabels {
		return false
	}
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

// conventionalName returns the name that the semantic conventions have for a label of Datadog's, or "".
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

// isConventional reports whether a label has the type that the semantic conventions require: a number for an id, a string
// for a name. The profilers of Ruby and .NET write ids as strings.
func (k *labelKey) isConventional(l *pprofwire.Label) bool {
	return k.conventional != "" && (k.conventional == semconv.ThreadID) == (l.Str == 0)
}
