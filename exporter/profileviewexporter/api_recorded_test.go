// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// recording is a request and the answer of a real Pyroscope.
type recording struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
	Status  int             `json:"status"`
	Answer  json.RawMessage `json:"answer"`
}

// differs are the answers that differ on purpose, as the README says, and what they have in common.
var differs = map[string]func(t *testing.T, status int, want, answer map[string]any){
	"flamegraph-dot": func(t *testing.T, status int, _, answer map[string]any) {
		t.Helper()
		assert.Equal(t, http.StatusNotImplemented, status)
		assert.Equal(t, "unimplemented", answer["code"])
	},
	// Pyroscope cuts the profiles of each pod before it merges them: what is cut from one of them is missing in the sum.
	"flamegraph-cpu-max-nodes-16": sameTotal,
	"flamegraph-inuse":            sameTotal,
	// The real store had two labels of earlier uploads.
	"label-names":            withoutEarlier,
	"label-names-no-matcher": withoutEarlier,
	// Pyroscope cuts each side by itself: what is drawn on one side only has 0 on the other.
	"diff-pods": func(t *testing.T, _ int, want, answer map[string]any) {
		t.Helper()
		for _, field := range []string{"total", "leftTicks", "rightTicks"} {
			assert.Equal(t, want["flamegraph"].(map[string]any)[field], answer["flamegraph"].(map[string]any)[field])
		}
		assert.Subset(t, answer["flamegraph"].(map[string]any)["names"], want["flamegraph"].(map[string]any)["names"])
	},
	// Pyroscope leaves out the smallest samples.
	"merge-profile-cpu": func(t *testing.T, _ int, want, answer map[string]any) {
		t.Helper()
		assert.Equal(t, valueSum(want), valueSum(answer))
		assert.Greater(t, len(answer["sample"].([]any)), len(want["sample"].([]any)))
		assert.NotContains(t, answer["stringTable"], "other")
	},
}

func sameTotal(t *testing.T, _ int, want, answer map[string]any) {
	t.Helper()
	assert.Equal(t, want["flamegraph"].(map[string]any)["total"], answer["flamegraph"].(map[string]any)["total"])
}

func withoutEarlier(t *testing.T, _ int, want, answer map[string]any) {
	t.Helper()
	assert.Equal(t, slices.DeleteFunc(want["names"].([]any), func(name any) bool { return name == "key" || name == "route" }), answer["names"])
}

// totalsOfNodes returns the totals of the nodes of a flame graph that are not other and have one, by level and name. Nodes of a difference have 7 values,
// the first of which are those of the left side.
func totalsOfNodes(t *testing.T, answer map[string]any, width int) map[string]int64 {
	t.Helper()
	nodes := map[string]int64{}
	graph := answer["flamegraph"].(map[string]any)
	for level, row := range graph["levels"].([]any) {
		values := row.(map[string]any)["values"].([]any)
		for i := 0; i < len(values); i += width {
			index := must.Get(strconv.Atoi(values[i+width-1].(string)))(t)
			total := must.Get(strconv.ParseInt(values[i+1].(string), 10, 64))(t)
			if name := graph["names"].([]any)[index]; name != "other" && total > 0 {
				nodes[fmt.Sprintf("%d %s", level, name)] += total
			}
		}
	}
	return nodes
}

// valueSum returns the sum of the values of a profile.
func valueSum(profile map[string]any) (sum int64) {
	for _, sample := range profile["sample"].([]any) {
		value, _ := strconv.ParseInt(sample.(map[string]any)["value"].([]any)[0].(string), 10, 64)
		sum += value
	}
	return sum
}

// recordedServer has the profiles that the real Pyroscope had.
func recordedServer(t *testing.T) (d holding, folder string) {
	t.Helper()
	folder = filepath.Join(profiletest.Corpus(t), "querier")
	d = newHolding(t, 256<<20)
	for i := range 2 {
		for _, kind := range []string{"cpu", "heap"} {
			raw := must.Get(os.ReadFile(filepath.Join(folder, fmt.Sprintf("%s-%d.pb.gz", kind, i))))(t)
			d.hold(t, raw, kind, map[string]string{"service.name": "shop", "pod": "p" + strconv.Itoa(i), "env": "prod", "pyroscope_spy": "gospy"})
		}
	}
	return d, folder
}

func read(t *testing.T, file string) (r recording) {
	t.Helper()
	raw := must.Get(os.ReadFile(file))(t)
	require.NoError(t, json.Unmarshal(raw, &r))
	return r
}

// Every answer is equal to that of a real Pyroscope with the same profiles.
func TestRecordedAnswers(t *testing.T) {
	d, folder := recordedServer(t)
	files := must.Get(filepath.Glob(filepath.Join(folder, "*.json")))(t)
	require.Len(t, files, 19)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		want := read(t, file)
		t.Run(name, func(t *testing.T) {
			w := d.query(t, want.Method, string(want.Request))
			status, answer := w.Code, w.Body.Bytes()
			if compare, found := differs[name]; found {
				compare(t, status, decode(t, want.Answer), decode(t, answer))
				return
			}
			require.Equal(t, want.Status, status, answer)
			if status != http.StatusOK {
				assert.Equal(t, decode(t, want.Answer)["code"], decode(t, answer)["code"])
				return
			}
			assert.Equal(t, readable(t, want.Answer), readable(t, answer))
		})
	}
}

// Without a limit, all nodes of a real Pyroscope are there, with at least their values.
func TestRecordedNodesOfSum(t *testing.T) {
	d, folder := recordedServer(t)
	for _, name := range []string{"flamegraph-cpu-max-nodes-16", "flamegraph-inuse"} {
		want := read(t, filepath.Join(folder, name+".json"))
		request := decode(t, want.Request)
		request["maxNodes"] = 100_000
		all := must.Get(json.Marshal(request))(t)
		w := d.query(t, want.Method, string(all))
		require.Equal(t, http.StatusOK, w.Code)
		nodes := totalsOfNodes(t, decode(t, w.Body.Bytes()), 4)
		for node, value := range totalsOfNodes(t, decode(t, want.Answer), 4) {
			assert.GreaterOrEqual(t, nodes[node], value, "%s: %s", name, node)
		}
	}
}

// The nodes of one pod are those of a real Pyroscope: the left side of its difference is one, cut to 32 nodes.
func TestRecordedNodes(t *testing.T) {
	d, folder := recordedServer(t)
	want := read(t, filepath.Join(folder, "diff-pods.json"))
	var request struct{ Left json.RawMessage }
	require.NoError(t, json.Unmarshal(want.Request, &request))
	w := d.query(t, "SelectMergeStacktraces", string(request.Left))
	require.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, totalsOfNodes(t, decode(t, want.Answer), 7), totalsOfNodes(t, decode(t, w.Body.Bytes()), 4))
}

func decode(t *testing.T, answer []byte) (decoded map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(answer, &decoded))
	return decoded
}

// readable returns an answer with the names of functions in place of their indices, which are in any order.
func readable(t *testing.T, answer []byte) string {
	t.Helper()
	decoded := decode(t, answer)
	if graph, found := decoded["flamegraph"].(map[string]any); found {
		names := graph["names"].([]any)
		levels := graph["levels"].([]any)
		width := 4
		if _, isDiff := graph["leftTicks"]; isDiff {
			width = 7
		}
		for _, level := range levels {
			values := level.(map[string]any)["values"].([]any)
			for i := width - 1; i < len(values); i += width {
				index := must.Get(strconv.Atoi(values[i].(string)))(t)
				values[i] = names[index]
			}
		}
		delete(graph, "names")
	}
	text := must.Get(json.MarshalIndent(decoded, "", " "))(t)
	return string(text)
}
