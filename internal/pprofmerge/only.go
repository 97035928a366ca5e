// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"bytes"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// Label is a label of a sample whose value is a text.
type Label struct{ Key, Text string }

// Mentions tells whether a pprof may have samples with all of these labels, without reading it.
func Mentions(pprof []byte, labels []Label) bool {
	for _, l := range labels {
		if !bytes.Contains(pprof, []byte(l.Text)) {
			return false
		}
	}
	return true
}

// Count returns how many samples of a pprof have all of these labels. reserve, if it is not nil, is asked before memory is taken,
// with the bytes that counting takes then.
func Count(pprof []byte, labels []Label, reserve func(bytes int64) error) (samples int, err error) {
	if !Mentions(pprof, labels) {
		return 0, nil
	}
	var p payload
	if err := p.read(pprof, reserve); err != nil {
		return 0, err
	}
	start := uint32(0)
	for i := range p.wire.Samples {
		end := p.wire.Samples[i].LabelsEnd
		if p.hasAll(p.wire.Labels[start:end], labels) {
			samples++
		}
		start = end
	}
	return samples, nil
}

// hasAll tells whether all labels that are wanted are among those of a sample.
func (p *payload) hasAll(labels []pprofwire.Label, wanted []Label) bool {
	for _, want := range wanted {
		found := false
		for i := range labels {
			found = found || labels[i].Str != 0 &&
				string(p.wire.String(labels[i].Str)) == want.Text && string(p.wire.String(labels[i].Key)) == want.Key
		}
		if !found {
			return false
		}
	}
	return true
}
