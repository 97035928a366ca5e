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
	if c.before == nil {
		c.before, c.other, c.sums = make([]int64, len(now)), make([]int64, len(now)), map[string][]int64{}
	}
	value, _ := e.Attribute(c.Attribute)
	sum := c.sums[value]
	if sum == nil && (len(value) > c.Limits.Text || len(c.sums) == maxResources) {
		sum = c.other
	}
	if sum == nil {
		sum = make([]int64, len(now))
		c.sums[value] = sum
	}
	for i, v := range now {
		sum[i] += v - c.before[i]
	}
	copy(c.before, now)
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
