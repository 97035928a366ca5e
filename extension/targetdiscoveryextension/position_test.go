// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

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
