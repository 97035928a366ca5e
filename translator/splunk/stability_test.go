// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestSameLogsSameProfiles: a decoder returns equal bytes for equal requests, whatever it decoded before, and from many
// goroutines. It only reads the logs.
func TestSameLogsSameProfiles(t *testing.T) {
	files := captures(t)
	want := make([][]byte, len(files))
	for i, c := range files {
		pd, _ := NewDecoder(Options{}).Decode(c.logs(t), received, nil)
		want[i] = profiletest.Marshal(t, pd)
	}
	decoder := NewDecoder(Options{})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range files {
				i = (i*7 + worker) % len(files)
				logs := files[i].logs(t)
				pd, _ := decoder.Decode(logs, received, nil)
				assert.Equal(t, want[i], profiletest.Marshal(t, pd), files[i].name)
				assert.Equal(t, files[i].logs(t), logs, files[i].name)
			}
		})
	}
	group.Wait()
}

// TestProfileIDs: a repeated request gets the same ids, other requests get other ids.
func TestProfileIDs(t *testing.T) {
	ids := func(change func(r request)) []pprofile.ProfileID {
		r := newRequest("nodejs")
		r.addPprof(onePayload().body(t))
		r.addText(oneFrame)
		change(r)
		pd, _ := mustDecode(t, r.logs, Options{})
		var found []pprofile.ProfileID
		for _, p := range profilesOf(pd) {
			found = append(found, p.ProfileID())
		}
		require.Len(t, found, 2)
		return found
	}
	same := ids(func(request) {})
	assert.Equal(t, same, ids(func(request) {}))
	assert.NotEqual(t, same[0], same[1])
	for name, change := range map[string]func(r request){
		"resource": func(r request) { r.logs.ResourceLogs().At(0).Resource().Attributes().PutStr("a", "b") },
		"bodies": func(r request) {
			r.scope.LogRecords().At(0).Body().SetStr(onePayload(str("a", "b")).body(t))
			r.scope.LogRecords().At(1).Body().SetStr("\n\ng(unknown)")
		},
	} {
		other := ids(change)
		assert.NotEqual(t, same[0], other[0], name)
		assert.NotEqual(t, same[1], other[1], name)
	}
	for name, change := range map[string]func(r plog.LogRecord){
		"time":  func(r plog.LogRecord) { r.SetTimestamp(5) },
		"trace": func(r plog.LogRecord) { r.SetTraceID(pcommon.TraceID{1}) },
		"span":  func(r plog.LogRecord) { r.SetSpanID(pcommon.SpanID{1}) },
	} {
		other := ids(func(r request) { change(r.scope.LogRecords().At(1)) })
		assert.NotEqual(t, same[1], other[1], "of a text, by %s", name)
	}
}

// randomSample is a sample that often repeats parts of the previous one.
type randomSample struct {
	stack  []uint64
	values []int64
	labels []label
}

// nextSample changes parts of the previous sample: all, some or none of its labels, its stack, and its value.
func nextSample(random *rand.Rand, before randomSample) randomSample {
	pick := func(choices ...label) []label { return choices[random.IntN(len(choices)):][:1] }
	s := before
	if random.IntN(2) == 0 {
		s.stack = [][]uint64{nil, {1}, {1, 2}, {2, 1, 3, 1, 2}, {3, 3, 3}, {1, 2, 1}}[random.IntN(6)]
	}
	if random.IntN(3) == 0 {
		s.values = [][]int64{{3}, {7}, {1 << 20}, {-1}}[random.IntN(4)]
	}
	if random.IntN(3) > 0 { // only the time, or nothing
		s.labels = append(pick(at(1), at(2), at(1<<18), at(-1), str("source.event.time", "3"), str("source.event.time", "x")), s.labels[1:]...)
		return s
	}
	s.labels = append(pick(at(1), at(2)), pick(period(10), period(20))...)
	for range random.IntN(5) {
		s.labels = append(s.labels, pick(
			str("thread.name", "a"), str("thread.name", "b"), num("thread.id", 1), num("thread.id", -1), at(5), period(-3),
			str("trace_id", someTrace), str("span_id", someSpan), str("trace_id", "0"), str("span_id", "no id"), str("note", "\xff"),
			num("size", 5), label{key: "size", number: 5, unit: "bytes"}, str("thread.stack.truncated", "True"),
		)...)
	}
	return s
}

// TestRepeatedPartsAgainstAlone: the result for a sample is the same after similar samples and in a record of its own.
func TestRepeatedPartsAgainstAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		together := newFramesPayload()
		s := randomSample{values: []int64{1}, labels: []label{at(1), period(10)}}
		alone, dataType := newRequest("nodejs"), []string{"cpu", "allocation"}[random.IntN(2)]
		for range 1 + random.IntN(40) {
			s = nextSample(random, s)
			together.sample(s.stack, s.values, s.labels...)
			single := newFramesPayload()
			single.sample(s.stack, s.values, s.labels...)
			alone.addPprof(single.body(t), "profiling.data.type", dataType).SetTimestamp(99)
		}
		all := newRequest("nodejs")
		all.addPprof(together.body(t), "profiling.data.type", dataType).SetTimestamp(99)
		options := Options{SampleShape: PerEvent, DropEmptyStacks: random.IntN(2) == 0}
		got, gotResult := mustDecode(t, all.logs, options)
		want, wantResult := mustDecode(t, alone.logs, options)
		require.Equal(t, samplesAsText(want), samplesAsText(got))
		assert.Equal(t, wantResult.Events, gotResult.Events)
		assert.Equal(t, wantResult.Samples, gotResult.Samples)
	}
}

// newFramesPayload returns a payload with the locations 1 to 3.
func newFramesPayload() *payload {
	p := newPayload("")
	for i := range 3 {
		p.location(fmt.Sprint("f", i), "a.js", int64(i))
	}
	return p
}

// samplesAsText renders the samples completely.
func samplesAsText(pd pprofile.Profiles) (all []string) {
	for _, profile := range profilesOf(pd) {
		for _, s := range profile.Samples().All() {
			link := pd.Dictionary().LinkTable().At(int(s.LinkIndex()))
			all = append(all, fmt.Sprint(framesOf(pd, s), attributesOf(pd, s.AttributeIndices()), link.TraceID(), link.SpanID(),
				s.Values().AsRaw(), s.TimestampsUnixNano().AsRaw()))
		}
	}
	return all
}

// TestRepairsOfRepeatedLabels: repairs count once for each sample whose labels differ from the previous ones, also if
// only the time differs.
func TestRepairsOfRepeatedLabels(t *testing.T) {
	p := newFramesPayload()
	first := int64(received) / nanosPerMilli
	for i := range int64(3) {
		p.sample([]uint64{1}, nil, at(first+i), period(10), str("note", "a"), str("note", "b"))
	}
	p.sample([]uint64{1}, nil, at(first+2), period(10))
	p.sample([]uint64{1}, nil, at(-1), period(10))
	_, result := decodePayload(t, p, Options{})
	assert.Equal(t, 3, result.Repairs.RepeatedLabels)
	assert.Equal(t, 1, result.Repairs.IgnoredNumbers)
	assert.Equal(t, 1, result.Repairs.NoTime)
}
