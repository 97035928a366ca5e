// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"
	"slices"

	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// nameTypes sets the sample types and their order in OTLP: the default one first, then the others as in the pprof. The
// default is default_sample_type, or the last type.
func (t *decoding) nameTypes() error {
	w := &t.wire
	t.types = t.types[:0]
	for _, v := range w.SampleTypes {
		// Each is hashed for the id of its profile.
		t.countLongTexts(v.Type, v.Unit)
		if err := t.meter.Err(); err != nil {
			return err
		}
		t.types = append(t.types, ValueType{t.name(v.Type), t.name(v.Unit)})
	}
	if len(t.types) == 0 {
		t.stats.Repairs.NoSampleType = 1
		t.types = append(t.types, t.src.SampleTypes...)
		for missing := t.widestSample() - len(t.types); missing > 0 && len(t.src.SampleTypes) == 0; missing-- {
			t.types = append(t.types, ValueType{})
		}
	}
	if len(t.types) == 0 {
		t.types = append(t.types, ValueType{})
	}
	if len(t.types) > MaxSampleTypes {
		return pprofwire.TooLarge("sample types", len(t.types), MaxSampleTypes)
	}
	first := len(t.types) - 1
	if name := t.name(w.DefaultSampleType); name != "" {
		if i := slices.IndexFunc(t.types, func(v ValueType) bool { return v.Type == name }); i >= 0 {
			first = i
		}
	}
	t.order = append(t.order[:0], first)
	for i := range t.types {
		if i != first {
			t.order = append(t.order, i)
		}
	}
	return nil
}

// widestSample returns the largest number of values that a sample has.
func (t *decoding) widestSample() int {
	widest, start := 0, uint32(0)
	for i := range t.wire.Samples {
		end := t.wire.Samples[i].ValuesEnd
		widest = max(widest, int(end-start))
		start = end
	}
	return widest
}

// countSamples checks the number of values of each sample, and counts the OTLP samples of each type, for the checks of memory and limit
// before they are added.
func (t *decoding) countSamples() error {
	w := &t.wire
	t.counts = scratch.Zeroed(t.counts, len(t.types))
	t.zeros = scratch.Zeroed(t.zeros, len(t.types))
	start, firstLabel := uint32(0), uint32(0)
	for i := range w.Samples {
		end := w.Samples[i].ValuesEnd
		values := w.Values[start:end]
		start = end
		if len(values) == 0 {
			t.stats.Repairs.NoValues++
			values = t.zeros
		}
		if len(values) != len(t.types) {
			return pprofwire.Malformed("sample %d has %d values, there are %d sample types", i, len(values), len(t.types))
		}
		labels := w.Samples[i].LabelsEnd - firstLabel
		firstLabel = w.Samples[i].LabelsEnd
		carried := 0 // OTLP samples of this one, as addSamples adds them
		for typ, v := range values {
			if v != 0 || t.opts.KeepZeroValues {
				t.counts[typ]++
				carried++
			}
		}
		if carried == 0 {
			t.counts[t.order[0]]++
			carried = 1
		}
		t.samplesBytes += int64(carried) * sampleBytes
		if labels > 0 {
			t.samplesBytes += int64(carried) * (sampleAttributeBytes*int64(labels) + attributeListBytes)
		}
	}
	total := 0
	for _, n := range t.counts {
		total += n
	}
	if limit := t.opts.Limits.Samples; total > limit {
		return pprofwire.TooLarge(fmt.Sprintf("samples of all %d sample types", len(t.types)), total, limit)
	}
	t.stats.OTLPSamples = total
	return nil
}
