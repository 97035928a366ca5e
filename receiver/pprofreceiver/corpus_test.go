// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestCorpus posts every file of the corpus. Profiles that google/pprof accepts are accepted and keep their sums.
// Everything else gets one of the defined answers.
func TestCorpus(t *testing.T) {
	r := run(t, nil)
	for _, file := range profiletest.CorpusPprofs(t) {
		t.Run(file.Name, func(t *testing.T) {
			r.sink.got = nil
			want, form := file.Parse(t)
			got := r.post(t, "/v1/pprof?service.name=corpus", file.Bytes(t))
			if form != profiletest.Proto {
				t.Logf("%d %s", got.status, got.text)
				assert.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest, http.StatusUnsupportedMediaType}, got.status)
				return
			}
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			expected := map[string]int64{}
			if len(want.SampleType) == 0 {
				expected["/"] = 0
			}
			for i, sampleType := range want.SampleType {
				key := sampleType.Type + "/" + sampleType.Unit
				expected[key] += 0
				for _, sample := range want.Sample {
					expected[key] += sample.Value[i]
				}
			}
			assert.Equal(t, expected, sums(r.sink.one(t)))
		})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
