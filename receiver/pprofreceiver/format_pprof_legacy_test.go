// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

const heapText = `heap profile: 3: 1024 [7: 4096] @ heap/1048576
1: 512 [2: 1024] @ 0x1000 0x2000
2: 512 [5: 3072] @ 0x1000 0x3000
`

func TestLegacyOn(t *testing.T) {
	for name, body := range map[string][]byte{
		"plain": []byte(heapText), "gzip": gz(t, []byte(heapText)), "zstd in gzip": gz(t, zs(t, []byte(heapText))),
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, func(_ *Config, s *ServerConfig) { s.LegacyFormats = true })
			got := r.post(t, "/v1/pprof?service.name=old", body)
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			pd := r.sink.one(t)
			assert.Equal(t, map[string]any{"service.name": "old"}, r.sink.resource(t))
			assert.Equal(t, []string{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"}, sortedKeys(sums(pd)))
			metrictest.AssertPoints(t, r.telemetry, "otelcol_receiver_pprof_bytes", points("form", map[string]int64{"wire": int64(len(body)), "inflated": int64(len(heapText))}))

			assert.Equal(t, http.StatusNoContent, r.post(t, "/v1/pprof", plain(t, cpuProfile(1))).status, "profile.proto as before")
			assert.Equal(t, http.StatusOK, r.post(t, "/ingest?name=app&format=pprof", body).status)
		})
	}
}

func TestLegacyRefused(t *testing.T) {
	r := run(t, func(_ *Config, s *ServerConfig) { s.LegacyFormats = true })
	got := r.post(t, "/v1/pprof", []byte("heap profile: nonsense"))
	assert.Equal(t, http.StatusBadRequest, got.status)
	got = r.post(t, "/v1/pprof", gz(t, []byte(heapText+strings.Repeat("# padding\n", (16<<20)/10))))
	assert.Equal(t, http.StatusRequestEntityTooLarge, got.status)
	assert.Contains(t, got.text, "16777216")
	r.assertRefusals(t, map[string]int64{"malformed": 1, "too_large": 1})
}

// TestLegacyCorpus accepts every file of the corpus in an older format that google/pprof reads.
func TestLegacyCorpus(t *testing.T) {
	count := 0
	for _, file := range profiletest.CorpusPprofs(t) {
		want, form := file.Parse(t)
		if form != profiletest.Legacy {
			continue
		}
		count++
		t.Run(file.Name, func(t *testing.T) {
			off := run(t, nil)
			assert.Equal(t, http.StatusUnsupportedMediaType, off.post(t, "/v1/pprof", file.Bytes(t)).status)

			on := run(t, func(_ *Config, s *ServerConfig) { s.LegacyFormats = true })
			got := on.post(t, "/v1/pprof", file.Bytes(t))
			require.Equal(t, http.StatusNoContent, got.status, got.text)
			expected := map[string]int64{}
			for i, sampleType := range want.SampleType {
				for _, sample := range want.Sample {
					expected[sampleType.Type+"/"+sampleType.Unit] += sample.Value[i]
				}
			}
			assert.Equal(t, expected, sums(on.sink.one(t)))
		})
	}
	assert.NotZero(t, count)
}
