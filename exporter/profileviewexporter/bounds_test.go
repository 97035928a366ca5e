// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// The state of each resource in each point of a series is reserved.
func TestStatesAreReserved(t *testing.T) {
	const pods, values = 100, 1000
	head := &store.Head{Columns: []store.Column{{IsGauge: true}}}
	memorytest.CheckHeld(t, memorytest.Most, 1, func() (*grouping, int64) {
		reserved := int64(0)
		work := meter.New(0, func(total int64) error {
			reserved = total
			return nil
		})
		g := &grouping{call: &call{work: work}, groups: map[string]*group{}}
		for pod := range pods {
			attributes := pcommon.NewMap()
			attributes.PutInt("pod", int64(pod))
			p := &selectedProfile{Profile: &store.Profile{Head: head, Resource: store.NewResource("", attributes), End: day}, wanted: []int{0}, columns: []int{0}}
			for value := range values {
				labels := []*typesv1.LabelPair{{Name: "id", Value: strconv.Itoa(value)}}
				require.NoError(t, g.add(&sampleSum{labels: labels, value: 1}, 0, p))
			}
		}
		return g, reserved
	})
}

// withTypes returns an exporter with the states of pods, each of so many sample types and comments.
func withTypes(t *testing.T, pods, types int) holding {
	t.Helper()
	h := newHolding(t, 1<<30)
	p := hostile(1, 1, 1, 1, 0, 1)
	p.SampleType, p.Sample[0].Value = nil, slices.Repeat([]int64{1}, types)
	for i := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: "live_" + strconv.Itoa(i), Unit: "count"})
		p.Comments = append(p.Comments, strconv.Itoa(i))
	}
	for pod := range pods {
		h.holdHostile(t, p, strconv.Itoa(pod))
	}
	return h
}

// selectAll returns a call whose memory work counts, and all profiles that some selectors select.
func (h holding) selectAll(work *meter.Meter, selectors ...selector) (*call, *selection, error) {
	c := &call{viewExporter: h.viewExporter, work: work}
	filter, err := c.newFilter(selectors, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	found, _, err := c.search(&store.Query{}, filter)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.selection(found, filter, "")
	return c, s, err
}

// mergeAll merges all profiles.
func (h holding) mergeAll(work *meter.Meter) (*merger, error) {
	c, s, err := h.selectAll(work)
	if err != nil {
		return nil, err
	}
	return c.merge(s, 0)
}

// counting returns a meter of work that needs no more memory, and the number of times that its caller can end the work.
func counting() (work *meter.Meter, calls *int) {
	calls = new(int)
	return meter.New(1<<40, func(int64) error {
		*calls++
		return nil
	}), calls
}

// The memory of many sample types is reserved, the work on them does not grow with their square, and a client that leaves ends it.
func TestManySampleTypes(t *testing.T) {
	h := withTypes(t, 50, 2000)
	memorytest.CheckCovered(t, func(reserve func(int64) error) error {
		m, err := h.mergeAll(meter.New(0, reserve))
		assert.Len(t, m.types, 2000)
		assert.Len(t, m.head.Comments, maxComments)
		return err
	})
	work, calls := counting()
	_, err := h.mergeAll(work)
	require.NoError(t, err)
	assert.Greater(t, *calls, 50)

	h = withTypes(t, 50, 6000)
	assert.Less(t, profiletest.CPUTime(func() { _, err = h.mergeAll(&meter.Meter{}) }), memorytest.Slowdown*2*time.Second)
	require.NoError(t, err)
}

// The frames of all stacks of a request count towards their limit, and a client that leaves ends the work on them.
func TestFramesOfRequest(t *testing.T) {
	const stacks, lines = 300, 10_000
	p := hostile(1, 1, 1, 1, 0, lines)
	for i := range stacks {
		l := &profile.Location{ID: uint64(i + 2), Address: uint64(i + 1), Line: p.Location[0].Line[:1]}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{p.Location[0], l}, Value: []int64{1}})
	}
	h := newHolding(t, 1<<30)
	h.holdHostile(t, p, "a")
	work, calls := counting()
	c, s, err := h.selectAll(work)
	require.NoError(t, err)
	tree, err := c.tree(s, s)
	require.NoError(t, err)
	assert.Greater(t, *calls, 20)
	assert.Equal(t, 2*(lines+stacks*(lines+1)), tree.steps)
	tree.steps = maxFrames - stacks*lines
	require.ErrorContains(t, tree.add(s, 0), "frames together")
}

// withLabels returns an exporter with samples that share a long list of labels.
func withLabels(t *testing.T, samples, labels int) holding {
	t.Helper()
	var raw, list []byte
	texts := []string{"", "samples", "count", "cpu", "nanoseconds", "id"}
	for i := range labels {
		texts = append(texts, "label.key."+strconv.Itoa(i))
		list = pprofwire.AppendLabel(list, pprofwire.Label{Key: uint32(len(texts) - 1), Str: 1})
	}
	for i := range samples {
		id := pprofwire.AppendLabel(nil, pprofwire.Label{Key: 5, Num: int64(i + 1)})
		raw = pprofwire.AppendSample(raw, nil, []int64{1}, append(id, list...))
	}
	raw = pprofwire.AppendSampleType(raw, pprofwire.ValueType{Type: 1, Unit: 2})
	raw = pprofwire.AppendPeriodType(raw, pprofwire.ValueType{Type: 3, Unit: 4})
	for _, text := range texts {
		raw = pprofwire.AppendString(raw, text)
	}
	h := newHolding(t, 1<<30)
	h.hold(t, raw, "samples", map[string]string{"service.name": "s"})
	return h
}

// The labels of samples are read once for all selectors or names.
func TestLabelsAreReadOnce(t *testing.T) {
	h := withLabels(t, 2000, 1000)
	var selectors, names []string
	for i := range maxSelectors {
		selectors = append(selectors, "x"+strconv.Itoa(i)+`=\"\"`)
		names = append(names, `"x`+strconv.Itoa(i)+`"`)
	}
	for _, body := range []string{`"labelSelector":"{` + strings.Join(selectors, ",") + `}"`, `"labelSelector":"{}","groupBy":[` + strings.Join(names, ",") + `]`} {
		assert.Less(t, profiletest.CPUTime(func() {
			w := h.query(t, "SelectSeries", `{"profileTypeID":"`+hostileID+`",`+body+`}`)
			assert.Equal(t, http.StatusOK, w.Code, w.Body)
		}), memorytest.Slowdown*500*time.Millisecond)
	}
}

// The labels that a request reads have a limit, and a client that leaves ends the work on them.
func TestLabelsOfRequest(t *testing.T) {
	const samples, labels = 2000, 1000
	h := withLabels(t, samples, labels)
	work, calls := counting()
	c, s, err := h.selectAll(work, selector{key: "x"})
	require.NoError(t, err)
	_, err = c.tree(s)
	require.NoError(t, err)
	assert.Greater(t, *calls, 6)
	assert.EqualValues(t, samples*(labels+1), s.filter.steps)

	c, s, err = h.selectAll(work, selector{key: "x"})
	require.NoError(t, err)
	s.filter.steps = maxWork - int64(labels)
	_, err = c.tree(s)
	require.ErrorContains(t, err, "too many labels")
}

// The results for the labels of samples are reserved for each combination of selectors that is not decided by the resource.
func TestResultsAreReserved(t *testing.T) {
	const keys = 5
	var raw bytes.Buffer
	require.NoError(t, hostile(3000, 1, 10, 10, 10, 1).WriteUncompressed(&raw))
	var selectors []selector
	for i := range keys {
		selectors = append(selectors, selector{key: "x" + strconv.Itoa(i), text: "v"})
	}
	h := newHolding(t, 1<<30)
	for combination := range 1 << keys {
		attributes := map[string]string{"service.name": "s"}
		for i, s := range selectors {
			if combination&(1<<i) != 0 {
				attributes[s.key] = "v"
			}
		}
		h.hold(t, raw.Bytes(), "samples", attributes)
	}
	memorytest.CheckCovered(t, func(reserve func(int64) error) error {
		_, s, err := h.selectAll(meter.New(0, reserve), selectors...)
		assert.Len(t, s.profiles, 1<<keys)
		return err
	})
}

// The lines that several locations of an answer share are reserved for each, and are copied once.
func TestSharedLinesAreReserved(t *testing.T) {
	const locations, lines = 100, 10_000
	p := hostile(1, 1, 1, 1, 0, lines)
	for i := range locations {
		l := &profile.Location{ID: uint64(i + 2), Line: append([]profile.Line{{Function: p.Function[0], Line: int64(lines + i)}}, p.Location[0].Line...)}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	h := newHolding(t, 1<<30)
	h.holdHostile(t, p, "a")
	memorytest.CheckCovered(t, func(reserve func(int64) error) error {
		m, err := h.mergeAll(meter.New(0, reserve))
		require.NoError(t, err)
		_, err = m.pprof()
		return err
	})
}
