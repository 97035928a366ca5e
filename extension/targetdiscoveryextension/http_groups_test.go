// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
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
				groups, err := r.groups()
				require.NoError(t, err)
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
