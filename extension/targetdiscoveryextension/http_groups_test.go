// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/discovery"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestReadGroups: answers are read as Prometheus reads them.
func TestReadGroups(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`null`, ` [] `, `[{}]`, `[{"targets": null, "labels": null}]`,
		`[{"targets": ["a:1", "b:1", "\u00e9"], "labels": {"x": "y", "z": "\n", "x": "again"}}, {"labels": {"x": "y"}, "targets": []}]`,
		`[{"Targets": ["a:1"], "LABELS": {"é": ""}}]`,
	} {
		var want []*targetgroup.Group
		require.NoError(t, json.Unmarshal([]byte(answer), &want), answer)
		got, err := newGroupReader(strings.NewReader(answer), 1<<20).groups()
		require.NoError(t, err, answer)
		require.Len(t, got, len(want), answer)
		for i, group := range got {
			assert.Equal(t, want[i].Targets, append(want[i].Targets[:0:0], group.Targets...), answer)
			assert.Equal(t, fmt.Sprint(want[i].Labels), fmt.Sprint(group.Labels), answer)
		}
	}
}

// TestMalformedGroups: what Prometheus refuses is refused, and the error tells where.
func TestMalformedGroups(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		``:                            "unexpected EOF",
		`{}`:                          "{ instead of [ at byte 1",
		`[[]]`:                        "[ instead of { at byte 2",
		`[{"targets": [1]}]`:          "1 instead of a text at byte 15",
		`[{"labels": {"a": {}}}]`:     "{ instead of a text",
		`[{"labels": ["a"]}]`:         "[ instead of {",
		`[{"labels": {"": "x"}}]`:     `"" is not a valid label name`,
		`[{"other": []}]`:             `a group has targets and labels, not "other"`,
		`[{"targets": ["a:1"]`:        "unexpected EOF",
		`[] []`:                       "something follows the list of groups",
		`[{"targets": ["a:1",,]}]`:    "invalid character ','",
		`[{"targets": ["a:1"]}}`:      "invalid character '}'",
		"[{\"targets\": [\"\x00\"]}]": "invalid character",
	} {
		_, err := newGroupReader(strings.NewReader(answer), 1<<20).groups()
		assert.ErrorContains(t, err, want, answer)
	}
}

// TestMemoryOfAnswers: an answer takes no more memory than is counted, and not much less. Not parallel: it measures memory.
func TestMemoryOfAnswers(t *testing.T) {
	const elements = 20_000
	for name, answer := range map[string]string{
		"groups":       "[" + strings.Repeat("{},", elements) + "{}]",
		"targets":      `[{"targets": [` + strings.Repeat(`"",`, elements) + `""]}]`,
		"long targets": `[{"targets": [` + strings.Repeat(`"`+strings.Repeat("x", 1000)+`",`, elements/10) + `""]}]`,
		"labels":       `[{"labels": {` + distinctLabels(elements) + `"x": ""}}]`,
		"both":         "[" + strings.Repeat(`{"targets": ["a:1"], "labels": {"a": "b", "c": "d"}},`, elements) + "{}]",
	} {
		t.Run(name, func(t *testing.T) {
			memorytest.CheckHeld(t, memorytest.Most, 1, func() ([]*targetgroup.Group, int64) {
				r := newGroupReader(strings.NewReader(answer), 1<<30)
				groups := must.Get(r.groups())(t)
				for i, group := range groups {
					group.Source = "http://127.0.0.1:1:" + strconv.Itoa(i)
					group.Labels["__meta_url"] = "http://127.0.0.1:1"
				}
				return groups, r.used
			})
		})
	}
}

// distinctLabels are so many labels, each followed by a comma.
func distinctLabels(count int) string {
	var labels strings.Builder
	for i := range count {
		fmt.Fprintf(&labels, `"%d":"",`, i)
	}
	return labels.String()
}

// TestContainerPositions: the containers of a pod keep the order of its specification, also when their ids change.
func TestContainerPositions(t *testing.T) {
	t.Parallel()
	container := func(name, address, id string) model.LabelSet {
		set := pod(address, "", "pprof.io/scrape", "true", "pprof.io/port", "6060")
		set["__meta_kubernetes_pod_container_name"] = model.LabelValue(name)
		set["__meta_kubernetes_pod_container_id"] = model.LabelValue(id)
		return set
	}
	for name, sets := range map[string][]model.LabelSet{
		"other ports":  {container("app", "10.0.0.1:8080", "containerd://b"), container("proxy", "10.0.0.1:4143", "containerd://a")},
		"no ports":     {container("app", "10.0.0.1", "containerd://b"), container("proxy", "10.0.0.1", "containerd://a")},
		"a new id":     {container("app", "10.0.0.1", "containerd://b"), container("proxy", "10.0.0.1", "containerd://c")},
		"no id so far": {container("app", "10.0.0.1", "containerd://b"), container("proxy", "10.0.0.1", "")},
	} {
		targets, _ := applied(t, shipped(t), nil, sets...)
		positions := map[string]int{}
		for _, target := range targets {
			assert.Equal(t, "10.0.0.1:6060", target.Address, name)
			positions[target.Attributes["k8s.container.name"]] = target.Position
		}
		assert.Equal(t, map[string]int{"app": 0, "proxy": 1}, positions, name)
	}
}

// TestPositionsChange: a target that is listed elsewhere is passed on with its new position.
func TestPositionsChange(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "targets.json")
	write := func(targets string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(`[{"targets": [`+targets+`]}]`), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	r := run(t, fmt.Sprintf("file_sd_configs: [{files: [%q], refresh_interval: 100ms}]", file))
	for _, step := range []struct {
		targets   string
		positions map[string]int
	}{
		{`"a:1", "b:1"`, map[string]int{"a:1": 0, "b:1": 1}},
		{`"b:1", "a:1"`, map[string]int{"a:1": 1, "b:1": 0}},
		{`"b:1", "a:1", "b:1"`, map[string]int{"a:1": 1, "b:1": 0}},
	} {
		write(step.targets)
		eventually(t, func() bool { return assert.ObjectsAreEqual(step.positions, r.positions()) }, step.targets)
	}
}

// positions are those of the targets, by address.
func (r *running) positions() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	positions := map[string]int{}
	for _, target := range r.last {
		positions[target.Address] = target.Position
	}
	return positions
}

// TestPositionInGroups: of a target in several groups, the first position is passed on.
func TestPositionInGroups(t *testing.T) {
	t.Parallel()
	d := &targetDiscovery{}
	s := &source{owner: d, groups: map[string]group{}}
	for i := range 10 {
		var targets []model.LabelSet
		for other := range i {
			targets = append(targets, model.LabelSet{"__address__": model.LabelValue(fmt.Sprintf("other-%d:1", other))})
		}
		s.groups[strconv.Itoa(i)] = d.apply(t.Context(), &targetgroup.Group{Targets: append(targets, model.LabelSet{"__address__": "a:1"})}, math.MaxInt, nil)
	}
	for range 20 {
		all := map[string]*discovery.Target{}
		s.collect(all, &counts{})
		for _, target := range all {
			if target.Address == "a:1" {
				require.Zero(t, target.Position)
			}
		}
	}
}
