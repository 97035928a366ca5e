// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// A sum of samples is their number and that of the last one that was added, followed by a value of each sample type.
const (
	sumSamples = iota
	sumLast
	sumParts
)

// SampleType is one of the sum.
type SampleType struct {
	Type, Unit string
	// Column is the position of its values.
	Column int
}

// Types returns the sample types of the sum, and the one that is shown first, if it says which.
func (m *Merger) Types() (types []SampleType, first string) {
	for _, column := range m.header.order {
		t := m.header.types[column]
		types = append(types, SampleType{Type: strings.Clone(m.dict.StringAt(t.name)), Unit: strings.Clone(m.dict.StringAt(t.unit)), Column: column})
	}
	return types, m.dict.StringAt(m.header.defaultType)
}

// Totals returns the sums of all samples that were added, for TotalOf. They are valid until the next sample, and become longer with the number
// of sample types.
func (m *Merger) Totals() []int64 {
	if m.totals == nil {
		m.totals = make([]int64, sumParts+m.header.stride)
	}
	return m.totals
}

// TotalOf returns the number of samples in a sum, and their value in a column.
func TotalOf(sum []int64, column int) (samples, value int64) {
	if len(sum) == 0 {
		return 0, 0
	}
	if sumParts+column >= len(sum) {
		return sum[sumSamples], 0 // The type came later.
	}
	return sum[sumSamples], sum[sumParts+column]
}

// Total returns the number of samples that were added, and their value in a column.
func (m *Merger) Total(column int) (samples, value int64) { return TotalOf(m.totals, column) }

// countSample adds row to the totals and, if labels count, to the sums of those in labelList.
func (m *Merger) countSample(labels bool) {
	m.counted++
	addSum(m.Totals(), m.payload.row, m.counted)
	if labels {
		m.countLabels()
	}
}

// countLabels adds row to the sums of the labels in labelList, to each once.
func (m *Merger) countLabels() {
	p := &m.payload
	width := sumParts + len(p.row)
	if missing := m.labels.Len()*width - len(m.labelSums); missing > 0 {
		m.labelSums = append(m.labelSums, make([]int64, missing)...)
	}
	for _, label := range p.labelList {
		addSum(m.labelSums[int(label)*width:][:width], p.row, m.counted)
	}
}

// addSum adds a sample to a sum, unless it was the last one: a sample may have a label twice.
func addSum(sum, row []int64, sample int64) {
	if sum[sumLast] == sample {
		return
	}
	sum[sumLast] = sample
	sum[sumSamples]++
	for i, v := range row {
		sum[sumParts+i] += v
	}
}

// countOthers adds row to the sums of the labels of one key.
func (m *Merger) countOthers(labels []pprofwire.Label, key string) {
	p := &m.payload
	p.labelList = p.labelList[:0]
	m.counted++
	for i := range labels {
		if string(p.wire.String(labels[i].Key)) == key {
			m.listLabels(labels[i : i+1])
		}
	}
	m.countLabels()
}

// LabelValue is a value of a label: a text, or a number in decimal digits, with its unit.
type LabelValue struct {
	Text, Unit string
	// Samples is the number of samples that have it, and Value their sum.
	Samples, Value int64
}

// LabelKey has the values of the labels of a key, those of the largest sums first.
type LabelKey struct {
	Key    string
	Values []LabelValue
	// Distinct is how many values there are, also of those that are left out.
	Distinct int
}

// LabelLimits bound what Labels returns.
type LabelLimits struct {
	// Keys and Values are the numbers of keys, and of values of each. Key is the only key that is wanted, if it is set.
	Keys, Values int
	Key          string
	// Text is the length of keys and of values. Longer ones are left out.
	Text int
}

// Labels returns the labels of the samples that were added, sorted by key, with their sums in a column. Where more keys are there than
// wanted, those of most samples are returned.
func (m *Merger) Labels(column int, limits LabelLimits) ([]LabelKey, error) {
	const perLabel = 64 // bytes
	if err := m.grow(sizes{}, perLabel*int64(m.labels.Len())); err != nil {
		return nil, err
	}
	width := sumParts + m.header.stride
	keys := map[int32]*labelGroup{}
	for label := range min(m.labels.Len(), len(m.labelSums)/width) {
		sums := m.labelSums[label*width:][:width]
		key := m.labels.At(int32(label))[labelKey]
		name := m.dict.StringAt(key)
		if sums[sumSamples] == 0 || name == "" || len(name) > limits.Text || limits.Key != "" && name != limits.Key {
			continue
		}
		if keys[key] == nil {
			keys[key] = &labelGroup{name: name}
		}
		keys[key].samples += sums[sumSamples]
		keys[key].labels = append(keys[key].labels, int32(label))
	}
	sorted := make([]*labelGroup, 0, len(keys))
	for _, key := range keys {
		sorted = append(sorted, key)
	}
	slices.SortFunc(sorted, func(a, b *labelGroup) int {
		return cmp.Or(cmp.Compare(b.samples, a.samples), cmp.Compare(a.name, b.name))
	})
	sorted = sorted[:min(len(sorted), limits.Keys)]
	slices.SortFunc(sorted, func(a, b *labelGroup) int { return cmp.Compare(a.name, b.name) })
	found := make([]LabelKey, len(sorted))
	for i, key := range sorted {
		found[i] = LabelKey{Key: strings.Clone(key.name), Distinct: len(key.labels), Values: m.valuesOfLabels(key.labels, column, &limits)}
	}
	return found, nil
}

// labelGroup are the labels of a key.
type labelGroup struct {
	name    string
	samples int64
	labels  []int32
}

// valuesOfLabels returns the values of labels, sorted by their sums.
func (m *Merger) valuesOfLabels(labels []int32, column int, limits *LabelLimits) []LabelValue {
	width := sumParts + m.header.stride
	at := func(label int32, part int) int64 { return m.labelSums[int(label)*width+part] }
	slices.SortFunc(labels, func(a, b int32) int {
		return cmp.Or(cmp.Compare(at(b, sumParts+column), at(a, sumParts+column)), cmp.Compare(at(b, sumSamples), at(a, sumSamples)), cmp.Compare(a, b))
	})
	var values []LabelValue
	for _, label := range labels {
		parts := m.labels.At(label)
		v := LabelValue{Unit: strings.Clone(m.dict.StringAt(parts[labelUnit])), Samples: at(label, sumSamples), Value: at(label, sumParts+column)}
		if parts[labelText] > 0 {
			v.Text = strings.Clone(m.dict.StringAt(parts[labelText] - 1))
		} else {
			v.Text = strconv.FormatInt(int64(parts[labelNumberHigh])<<32|int64(uint32(parts[labelNumberLow])), 10)
		}
		if len(v.Text) > limits.Text || v.Text == "" || len(v.Unit) > limits.Text {
			continue
		}
		if values = append(values, v); len(values) == limits.Values {
			break
		}
	}
	return values
}
