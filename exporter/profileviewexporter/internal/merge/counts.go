// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

// ErrNoSampleType is the error for a profile without the selected sample type.
var ErrNoSampleType = errors.New("there is no such sample type")

// Counts are the totals of samples by label, and by one resource attribute.
type Counts struct {
	// SampleType selects the values, as on the pages of google/pprof. Limits limit the labels.
	SampleType string
	Limits     pprofmerge.LabelLimits
	// Alternatives also counts samples that lack one of the selected labels, to show the other values of that label.
	Alternatives bool
	// Attribute is the resource attribute to count by. It can be empty.
	Attribute string

	// Type and Unit describe the values. Samples and Total are the totals of all samples.
	Type, Unit     string
	Samples, Total int64
	Labels         []pprofmerge.LabelKey
	// Resources are the values of the attribute, by descending total. The empty text stands for resources without it. Others is
	// the total of the values that are left out.
	Resources []pprofmerge.LabelValue
	Others    pprofmerge.LabelValue

	// sums are the totals by value of the attribute, and other the total of the values above maxResources. before are the
	// totals before the last entry was added.
	sums          map[string][]int64
	other, before []int64
}

// maxResources limits the values of an attribute that have their own total.
const maxResources = 1000

// added counts the samples of the entry that was added last.
func (c *Counts) added(m *pprofmerge.Merger, e *recent.Entry) {
	if c.Attribute == "" {
		return
	}
	now := m.Totals()
	if c.sums == nil {
		c.sums = map[string][]int64{}
	}
	c.before = lengthened(c.before, len(now))
	value, _ := e.Attribute(c.Attribute)
	sum, known := c.sums[value]
	isOther := !known && (len(value) > c.Limits.Text || len(c.sums) == maxResources)
	if isOther {
		sum = c.other
	}
	sum = lengthened(sum, len(now))
	for i, v := range now {
		sum[i] += v - c.before[i]
	}
	if isOther {
		c.other = sum
	} else {
		c.sums[value] = sum
	}
	copy(c.before, now)
}

// lengthened returns a sum with at least n values. An entry can have more sample types than those before it.
func lengthened(sum []int64, n int) []int64 {
	if missing := n - len(sum); missing > 0 {
		return append(sum, make([]int64, missing)...)
	}
	return sum
}

// fill sets the counts from a sum.
func (c *Counts) fill(m *pprofmerge.Merger) error {
	types, first := m.Types()
	header := profile.Profile{DefaultSampleType: first}
	for _, t := range types {
		header.SampleType = append(header.SampleType, &profile.ValueType{Type: t.Type, Unit: t.Unit})
	}
	index, err := header.SampleIndexByName(c.SampleType)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSampleType, err)
	}
	shown := types[index]
	c.Type, c.Unit = shown.Type, shown.Unit
	c.Samples, c.Total = m.Total(shown.Column)
	for value, sum := range c.sums {
		v := pprofmerge.LabelValue{Text: value}
		v.Samples, v.Value = pprofmerge.TotalOf(sum, shown.Column)
		c.Resources = append(c.Resources, v)
	}
	slices.SortFunc(c.Resources, func(a, b pprofmerge.LabelValue) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Text, b.Text))
	})
	c.Others.Samples, c.Others.Value = pprofmerge.TotalOf(c.other, shown.Column)
	c.Labels, err = m.Labels(shown.Column, c.Limits)
	return err
}
