// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"bytes"
	"strconv"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/selector"
)

// Mentions tells whether a pprof may have samples with all of these labels, without reading it.
func Mentions(pprof []byte, labels []selector.Selector) bool {
	for i := range labels {
		l := &labels[i]
		if !l.NeedsKey() {
			continue
		}
		if l.IsExpression() || l.Negated() {
			if !bytes.Contains(pprof, []byte(l.Key)) {
				return false
			}
			continue
		}
		if _, err := strconv.ParseInt(l.Text, 10, 64); err != nil && !bytes.Contains(pprof, []byte(l.Text)) {
			return false
		}
	}
	return true
}

// Count returns how many samples of a pprof have all of these labels. The value of a label is a text, or a number in decimal digits. reserve, if it is not nil, is asked before memory is taken,
// with the bytes that counting takes then.
func Count(pprof []byte, labels []selector.Selector, reserve func(bytes int64) error) (samples int, err error) {
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
		if err := selector.Check(labels); err != nil {
			return 0, err
		}
		start = end
	}
	return samples, nil
}

// hasAll tells whether all labels that are wanted are among those of a sample.
func (p *payload) hasAll(labels []pprofwire.Label, wanted []selector.Selector) bool {
	_, missing := p.missing(labels, wanted)
	return missing == 0
}

// missing returns how many of the labels that are wanted a sample does not have, and the position of the last one.
func (p *payload) missing(labels []pprofwire.Label, wanted []selector.Selector) (last, missing int) {
	for i := range wanted {
		has, named := false, false
		for j := range labels {
			if string(p.wire.String(labels[j].Key)) == wanted[i].Key {
				has, named = true, named || p.isNamed(&labels[j], &wanted[i])
			}
		}
		if !wanted[i].Wants(has, named) {
			last = i
			missing++
		}
	}
	return last, missing
}

// isNamed tells whether the value of a label is the one that a selector names.
func (p *payload) isNamed(label *pprofwire.Label, wanted *selector.Selector) bool {
	if label.Str != 0 {
		return wanted.Names(p.wire.String(label.Str))
	}
	var digits [20]byte
	return wanted.Names(strconv.AppendInt(digits[:0], label.Num, 10))
}
