// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"bytes"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// Label is a label of a sample whose value is a text, or a number in decimal digits.
type Label struct{ Key, Text string }

// Mentions tells whether a pprof may have samples with all of these labels, without reading it.
func Mentions(pprof []byte, labels []Label) bool {
	for _, l := range labels {
		if _, err := strconv.ParseInt(l.Text, 10, 64); err != nil && !bytes.Contains(pprof, []byte(l.Text)) {
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
	_, missing := p.missing(labels, wanted)
	return missing == 0
}

// missing returns how many of the labels that are wanted a sample does not have, and the position of the last one.
func (p *payload) missing(labels []pprofwire.Label, wanted []Label) (last, missing int) {
	for i := range wanted {
		found := false
		for j := range labels {
			found = found || p.isLabel(&labels[j], &wanted[i])
		}
		if !found {
			last = i
			missing++
		}
	}
	return last, missing
}

func (p *payload) isLabel(label *pprofwire.Label, wanted *Label) bool {
	if string(p.wire.String(label.Key)) != wanted.Key {
		return false
	}
	if label.Str != 0 {
		return string(p.wire.String(label.Str)) == wanted.Text
	}
	var digits [20]byte
	return string(strconv.AppendInt(digits[:0], label.Num, 10)) == wanted.Text
}
