// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const someFiles = "file_sd_configs: [{files: [x.json]}]"

// addresses are targets with nothing but an address.
func addresses(format string, count int) []model.LabelSet {
	var sets []model.LabelSet
	for i := range count {
		sets = append(sets, model.LabelSet{"__address__": model.LabelValue(fmt.Sprintf(format, i))})
	}
	return sets
}

// sharedLabels are labels of a group.
func sharedLabels(name string, count, size int) model.LabelSet {
	set := model.LabelSet{}
	for i := range count {
		set[model.LabelName(fmt.Sprintf(name, i))] = model.LabelValue(strings.Repeat("x", size))
	}
	return set
}

// TestInvalidTargets are left out, each with a reason.
func TestInvalidTargets(t *testing.T) {
	t.Parallel()
	for want, labels := range map[string]model.LabelSet{
		"it has no __address__":                 {"a": "b"},
		"__address__ must be a host and port":   {"__address__": "a:1/path"},
		"the scheme must be http or https":      {"__address__": "a:1", "__scheme__": "ftp"},
		"__scrape_interval__ must be":           {"__address__": "a:1", "__scrape_interval__": "0s"},
		"__scrape_timeout__ must be":            {"__address__": "a:1", "__scrape_timeout__": "soon"},
		`duration from 1s to 1y, is "999ms"`:    {"__address__": "a:1", "__scrape_interval__": "999ms"},
		`duration from 1ms to 1h, is "3601s"`:   {"__address__": "a:1", "__scrape_timeout__": "3601s"},
		`the port must be 1 to 65535, is "x"`:   {"__address__": "a:1", "__profile_cpu_port__": "x"},
		`the port must be 1 to 65535, is "0"`:   {"__address__": "a:1", "__profile_port__": "0"},
		`http or https, is "gopher"`:            {"__address__": "a:1", "__profile_cpu_scheme__": "gopher"},
		"has 1 bytes in its name and 16385 in ": {"__address__": "a:1", "b": model.LabelValue(strings.Repeat("x", maxAttributeValue+1))},
	} {
		targets, made := applied(t, someFiles, nil, labels)
		assert.Empty(t, targets, want)
		assert.Equal(t, 1, made.invalid, want)
		assert.ErrorContains(t, made.firstInvalid, want)
	}
	many := model.LabelSet{"__address__": "a:1"}
	for i := range maxAttributes + 1 {
		many[model.LabelName(fmt.Sprintf("label_%d", i))] = "x"
	}
	_, made := applied(t, someFiles, nil, many)
	assert.ErrorContains(t, made.firstInvalid, "it has 129 labels, the limit is 128")
}

// TestDurations: those at the limits are valid.
func TestDurations(t *testing.T) {
	t.Parallel()
	targets, _ := applied(t, someFiles, nil,
		model.LabelSet{"__address__": "a:1", "__scrape_interval__": "1s", "__scrape_timeout__": "1h"})
	require.Len(t, targets, 1)
	assert.Equal(t, []time.Duration{time.Second, time.Hour}, []time.Duration{targets[0].Interval, targets[0].Timeout})
}

// TestMemoryOfGroups: the targets of a group share the texts of its labels, also in their keys, and only the first error is kept.
// Not parallel: it measures memory.
func TestMemoryOfGroups(t *testing.T) {
	for name, test := range map[string]struct {
		labels model.LabelSet
		format string
		count  int
		valid  int
		limit  int64
	}{
		"labels within the limit": {sharedLabels("label_%d", 60, 1000), "host-%d:1", 1000, 1000, 20 << 20},
		"labels above the limit":  {sharedLabels("label_%d", maxAttributes, maxAttributeValue), "host-%d:1", 1000, 0, 5 << 20},
		"invalid addresses":       {nil, "host-%d/path", 100_000, 0, 5 << 20},
	} {
		sets := addresses(test.format, test.count)
		before := memorytest.LiveHeap()
		targets, made := applied(t, someFiles, test.labels, sets...)
		after := memorytest.LiveHeap()
		assert.Less(t, after, before+test.limit, name)
		assert.Len(t, targets, test.valid, name)
		runtime.KeepAlive(sets)
		runtime.KeepAlive(made)
	}
}

// TestTextLimits: all that a target keeps is limited.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	for want, labels := range map[string]model.LabelSet{
		"have 65542 bytes together, the limit is 65536": sharedLabels("label_%d", 4, 16<<10-4-3),
		"it has 129 parameters":                         sharedLabels("__param_%d", maxAttributes+1, 1),
		"and settings of 129 profiles":                  sharedLabels("__profile_%d_path__", maxAttributes+1, 1),
		"it has 4097 labels before the rules":           sharedLabels("__tmp_%d", maxLabels, 1),
		"the port must be 1 to 65535":                   sharedLabels("__profile_%d_port__", maxLabels-1, 10),
	} {
		_, made := applied(t, someFiles, labels, model.LabelSet{"__address__": "a:1"})
		require.ErrorContains(t, made.firstInvalid, want)
		assert.Less(t, len(made.firstInvalid.Error()), 1000, want)
	}
}

// TestKey: whatever differs gives another key, and the order is that of the addresses.
func TestKey(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, target := range []*discovery.Target{
		{Address: "a:1"},
		{Address: "a:1", Origin: "b:1"},
		{Address: "a:1", Scheme: "https"},
		{Address: "a:1", Listed: true},
		{Address: "a:1", Interval: 1},
		{Address: "a:1", Timeout: 1},
		{Address: "a:1", PathPrefix: "/x"},
		{Address: "a:1", Params: map[string]string{"a": "b"}},
		{Address: "a:1", Attributes: map[string]string{"a": "b"}},
		{Address: "a:1", Attributes: map[string]string{"a": "c"}},
		{Address: "a:1", Attributes: map[string]string{"ab": ""}},
		{Address: "a:1", Profiles: map[string]discovery.Profile{"cpu": {}}},
		{Address: "a:1", Profiles: map[string]discovery.Profile{"cpu": {Skip: true}}},
	} {
		assert.False(t, keys[key(target)], target)
		keys[key(target)] = true
		assert.Less(t, key(target), key(&discovery.Target{Address: "b:1"}))
	}
	target := &discovery.Target{Address: "a:1", Attributes: map[string]string{"a": "b", "c": "d"}}
	copied := *target
	copied.Attributes = map[string]string{"c": "d", "a": "b"}
	assert.Equal(t, key(target), key(&copied))
}

// TestStopped: when the extension stops, it looks at no further target.
func TestStopped(t *testing.T) {
	t.Parallel()
	d := must.Get(newTargetDiscovery(configOf(t, someFiles), nopSettings()))(t)
	group := &targetgroup.Group{Source: "x", Targets: addresses("a-%d:1", 10)}
	ctx, cancel := context.WithCancel(t.Context())
	assert.Len(t, d.apply(ctx, group, 10, nil).targets, 10)
	cancel()
	assert.Empty(t, d.apply(ctx, group, 10, nil).targets)
	d.sources[0].set(ctx, []*targetgroup.Group{group})
	assert.Empty(t, d.sources[0].groups)
}

// TestRepeat: a discoverer that has returned runs again, until the extension stops.
func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*checkInterval/2)
		defer cancel()
		runs := 0
		repeat(ctx, func() {
			if runs++; runs == 3 {
				<-ctx.Done()
			}
		})
		assert.Equal(t, 3, runs)
	})
}

// TestRoom: a source holds no more than twice max_targets and what was passed on before, and counts the others.
func TestRoom(t *testing.T) {
	t.Parallel()
	newSource := func(text string) *source {
		d := must.Get(newTargetDiscovery(configOf(t, "max_targets: 2\n"+text), nopSettings()))(t)
		return d.sources[0]
	}
	state := func(s *source) (held, passed, overLimit int) {
		s.owner.host = &host{}
		s.owner.update()
		now := s.owner.counts.Load()
		require.Equal(t, s.held, len(s.groups["x:0"].targets)+len(s.groups["x:1"].targets))
		return s.held, now.passed, now.overLimit
	}
	s := newSource(someFiles)
	for _, step := range []struct {
		first, second                 []model.LabelSet
		wantHeld, wantPassed, wantOut int
	}{
		{addresses("a-%d:1", 1), addresses("b-%d:1", 1), 2, 2, 0},
		{addresses("a-%d:1", 100), addresses("b-%d:1", 100), 5, 2, 198}, // b-0 was passed on before
		{addresses("a-%d:1", 1), addresses("b-%d:1", 100), 4, 2, 99},
		{nil, addresses("b-%d:1", 3), 3, 2, 1},
		{nil, nil, 0, 0, 0},
	} {
		s.set(t.Context(), []*targetgroup.Group{{Source: "x:0", Targets: step.first}, nil, {Source: "x:1", Targets: step.second}})
		held, passed, out := state(s)
		assert.Equal(t, []int{step.wantHeld, step.wantPassed, step.wantOut}, []int{held, passed, out})
	}
	s = newSource("kubernetes_sd_configs: [{role: pod}]")
	s.set(t.Context(), []*targetgroup.Group{{Source: "x:0", Targets: addresses("a-%d:1", 100)}})
	held, passed, out := state(s)
	assert.Equal(t, []int{100, 2, 98}, []int{held, passed, out}, "it sends each object once")
}
