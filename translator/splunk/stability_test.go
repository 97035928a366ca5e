// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
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

// TestBackToPprof: translator/pprof writes every event of a record, with its stack, weight, time, link and thread. Events
// that are equal in stack, link, thread and time become one sample with the sum of the weights.
func TestBackToPprof(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{TimestampLabels: true})
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			pd, _ := mustDecode(t, c.logs(t), Options{})
			want, got := map[string]int64{}, map[string]int64{}
			for _, p := range profilesOf(pd) {
				addEvents(want, pd, p)
			}
			for payload, err := range encoder.All(pd) {
				require.NoError(t, err)
				parsed, err := profile.ParseData(payload.Pprof)
				require.NoError(t, err)
				addPprofEvents(t, got, parsed)
			}
			require.NotEmpty(t, want)
			for event, weight := range want {
				assert.Equal(t, weight, got[event], event)
			}
			assert.Len(t, got, len(want))
		})
	}
}

// addEvents adds the weight of each event of a profile, by a text with the rest of the event.
func addEvents(events map[string]int64, pd pprofile.Profiles, p pprofile.Profile) {
	for _, s := range p.Samples().All() {
		labels := attributesOf(pd, s.AttributeIndices())
		if link := pd.Dictionary().LinkTable().At(int(s.LinkIndex())); s.LinkIndex() != 0 {
			labels["trace_id"] = link.TraceID().String()
			if !link.SpanID().IsEmpty() {
				labels["span_id"] = link.SpanID().String()
			}
		}
		for i, value := range s.Values().All() {
			labels["timestamp"] = s.TimestampsUnixNano().At(i)
			events[fmt.Sprintf("%s %v\n%s", sampleTypeOf(pd, p), labels, stackText(pd, s))] += value
		}
	}
}

// addPprofEvents does the same for a pprof.
func addPprofEvents(t *testing.T, events map[string]int64, p *profile.Profile) {
	t.Helper()
	require.Len(t, p.SampleType, 1)
	for _, s := range p.Sample {
		labels := map[string]any{}
		for key, values := range s.Label {
			labels[key] = values[0]
		}
		for key, values := range s.NumLabel {
			labels[key] = values[0]
		}
		var frames []string
		for _, location := range s.Location {
			for _, line := range location.Line {
				frames = append(frames, frameText(line.Function.Name, line.Function.Filename, line.Line, line.Column))
			}
		}
		kind := p.SampleType[0].Type + "/" + p.SampleType[0].Unit
		events[fmt.Sprintf("%s %v\n%s", kind, labels, strings.Join(frames, "\n"))] += s.Value[0]
	}
}
