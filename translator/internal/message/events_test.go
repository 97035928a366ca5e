// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/message"
)

// sample has the fields of a sample.
type sample struct {
	stack      int32
	attributes []int32
	times      []uint64
	values     []int64
}

func samplesOf(write func(to pprofile.SampleSlice)) (all []sample) {
	to := pprofile.NewSampleSlice()
	write(to)
	for _, s := range to.All() {
		all = append(all, sample{s.StackIndex(), s.AttributeIndices().AsRaw(), s.TimestampsUnixNano().AsRaw(), s.Values().AsRaw()})
	}
	return all
}

// TestEvents writes events that are not in the order of time. The second sample has none.
func TestEvents(t *testing.T) {
	var events message.Events
	for range 2 { // The second round uses the memory of the first.
		events.Reset(0)
		for stack := range int32(3) {
			events.Samples.Index(dictionary.SampleIdentity{Stack: 7 + stack}, []int32{1, 2}[:stack])
		}
		for _, e := range []message.Event{{2, 50, 1}, {0, 30, 2}, {2, 20, 3}, {2, 50, 4}, {0, 40, 5}} {
			events.Add(e)
		}
		assert.Equal(t, 5, events.Len())
		events.Sort()
		assert.Equal(t, []sample{
			{7, []int32(nil), []uint64{30, 40}, []int64{2, 5}},
			{9, []int32{1, 2}, []uint64{20, 50, 50}, []int64{3, 1, 4}},
		}, samplesOf(func(to pprofile.SampleSlice) { events.Write(to, false) }))
		assert.Equal(t, []sample{
			{7, []int32(nil), []uint64{30, 40}, []int64{1, 1}},
			{9, []int32{1, 2}, []uint64{20, 50, 50}, []int64{1, 1, 1}},
		}, samplesOf(func(to pprofile.SampleSlice) { events.Write(to, true) }))
		each := samplesOf(events.WriteEach)
		assert.Len(t, each, 5)
		assert.Equal(t, sample{9, []int32{1, 2}, []uint64{20}, []int64{3}}, each[2])
	}
	events.Clear(0)
	events.Sort()
	assert.Empty(t, samplesOf(func(to pprofile.SampleSlice) { events.Write(to, false) }))
	assert.Equal(t, 3, events.Samples.Len(), "Clear keeps the samples")
}
