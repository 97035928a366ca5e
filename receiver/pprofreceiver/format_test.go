// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// zipOf returns a zip with files of these names and the same content.
func zipOf(tb testing.TB, content func() io.Reader, names ...string) []byte {
	tb.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range names {
		w, err := archive.Create(name)
		require.NoError(tb, err)
		_, err = io.Copy(w, content())
		require.NoError(tb, err)
	}
	require.NoError(tb, archive.Close())
	return out.Bytes()
}

// recordingProfiles returns the number of values of each profile by its type, and the number of samples that have a link.
func recordingProfiles(pd pprofile.Profiles) (values map[string]int, links int) {
	values = map[string]int{}
	for _, profile := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		name := pd.Dictionary().StringTable().At(int(profile.SampleType().TypeStrindex()))
		for _, sample := range profile.Samples().All() {
			values[name] += sample.Values().Len()
			if sample.LinkIndex() != 0 {
				links++
			}
		}
	}
	return values, links
}

// exampleValues has the values of [jfrtest.Example]. Two profiles have contentions and delay.
var exampleValues = map[string]int{
	"cpu": 5, "wall": 1, "alloc_in_new_tlab_objects": 2, "alloc_in_new_tlab_bytes": 2, "alloc_outside_tlab_objects": 1,
	"alloc_outside_tlab_bytes": 1, "alloc_sample_objects": 1, "alloc_sample_bytes": 1, "live": 1, "malloc_objects": 1, "malloc_bytes": 1,
	"contentions": 2, "delay": 2,
}

// TestRecordings sends a recording in every accepted form.
func TestRecordings(t *testing.T) {
	recording, labels := jfrtest.Example().Bytes(), jfrtest.Labels()
	text := func(b []byte) string { return string(b) }
	reader := func() io.Reader { return bytes.NewReader(recording) }
	const ingest = "/ingest?name=shop%7Bregion=eu%7D&spyName=javaspy&format=jfr&sampleRate=100&from=1&until=2"
	for name, c := range map[string]struct {
		target  string
		body    []byte
		headers []string
		links   int
		status  int
	}{
		"raw":                    {target: ingest, body: recording, links: 1},
		"raw, gzip":              {target: ingest, body: gz(t, recording), links: 1},
		"Content-Encoding":       {target: ingest, body: gz(t, recording), headers: []string{"Content-Encoding", "gzip"}, links: 1},
		"form":                   {target: ingest, body: formOf("b", "jfr", text(recording), "labels", text(labels)), headers: asForm, links: 2},
		"form, gzip":             {target: ingest, body: formOf("b", "labels", text(gz(t, labels)), "jfr", text(gz(t, recording))), headers: asForm, links: 2},
		"form without labels":    {target: ingest, body: formOf("b", "jfr", text(recording)), headers: asForm, links: 1},
		"form without format":    {target: "/ingest?name=shop", body: formOf("b", "jfr", text(recording)), headers: asForm, links: 1},
		"body without format":    {target: "/ingest?name=shop", body: recording, links: 1},
		"Datadog's main":         {target: "/profiling/v1/input", body: formOf("b", "main.jfr", text(recording), "event", event), headers: asForm, links: 1},
		"Datadog's auto in lz4":  {target: "/profiling/v1/input", body: formOf("b", "auto.jfr", text(lz4Of(t, reader())), "event", event), headers: asForm, links: 1},
		"Datadog's in gzip":      {target: "/profiling/v1/input", body: formOf("b", "main.jfr", text(gz(t, recording)), "event", event), headers: asForm, links: 1},
		"Datadog's in zstd":      {target: "/profiling/v1/input", body: formOf("b", "main.jfr", text(zs(t, recording)), "event", event), headers: asForm, links: 1},
		"Datadog's in zip":       {target: "/profiling/v1/input", body: formOf("b", "main.jfr", text(zipOf(t, reader, "readme", "main.jfr")), "event", event), headers: asForm, links: 1},
		"Datadog's gzip in zip":  {target: "/profiling/v1/input", body: formOf("b", "main.jfr", text(zipOf(t, func() io.Reader { return bytes.NewReader(gz(t, recording)) }, "main.jfr")), "event", event), headers: asForm, links: 1},
		"Datadog's legacy field": {target: "/profiling/v1/input", body: formOf("b", "data[main.jfr]", text(recording), "event", event), headers: asForm, links: 1},
		"by its magic":           {target: "/v1/pprof?service.name=shop", body: recording, links: 1, status: http.StatusNoContent},
		"by its magic, gzip":     {target: "/v1/pprof?service.name=shop", body: gz(t, recording), links: 1, status: http.StatusNoContent},
		"by its name":            {target: "/v1/pprof?service.name=shop&format=jfr", body: recording, links: 1, status: http.StatusNoContent},
		"by its name, lz4":       {target: "/v1/pprof?service.name=shop&format=jfr", body: lz4Of(t, reader()), links: 1, status: http.StatusNoContent},
		"by its magic, zstd":     {target: "/v1/pprof?service.name=shop", body: zs(t, gz(t, recording)), links: 1, status: http.StatusNoContent},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, nil)
			got := r.post(t, c.target, c.body, c.headers...)
			require.Equal(t, max(c.status, http.StatusOK), max(got.status, http.StatusOK), got.text)
			require.Empty(t, got.text)
			values, links := recordingProfiles(r.sink.one(t))
			assert.Equal(t, exampleValues, values)
			assert.Equal(t, c.links, links)
			assert.NotEmpty(t, r.sink.resource(t)["service.name"])
			for _, profile := range r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
				assert.EqualValues(t, uint64(jfrtest.Start), profile.Time(), "the recording has its time")
			}
		})
	}
}

// TestRecordingRate: the query has the sample rate for recordings without one.
func TestRecordingRate(t *testing.T) {
	for query, period := range map[string]int64{"": 1e7, "&sampleRate=50": 2e7, "&sampleRate=0": 1e7, "&sampleRate=x": 1e7} {
		recording := jfrtest.New()
		recording.ExecutionSample(1000, 0, 0, 0, jfrtest.Context{})
		r := run(t, nil)
		got := r.post(t, "/ingest?name=shop&format=jfr"+query, recording.Bytes())
		require.Equal(t, http.StatusOK, got.status, got.text)
		profile := r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
		assert.Equal(t, period, profile.Period(), query)
		assert.Equal(t, period, profile.Samples().At(0).Values().At(0), query)
	}
}

// TestRecordingFile: the section file reads recordings.
func TestRecordingFile(t *testing.T) {
	directory := t.TempDir()
	put(t, jfrtest.Example().Bytes(), directory, "a.pb.gz")
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	require.Equal(t, 1, r.round(t))
	values, _ := recordingProfiles(r.sink.one(t))
	assert.Equal(t, exampleValues, values)
}

// TestRecordingRefusals checks the answers for invalid recordings.
func TestRecordingRefusals(t *testing.T) {
	recording := jfrtest.Example().Bytes()
	reader := func() io.Reader { return bytes.NewReader(recording) }
	bomb := func() io.Reader { return zeros(2 << 20) }
	limited := func(cfg *Config, _ *ServerConfig) { cfg.Limits.InflatedBytes = 1 << 20 }
	checkRefusals(t, "/ingest?name=shop&format=jfr", limited, map[string]refused{
		"cut off":                  {body: recording[:len(recording)-1], status: 422, reason: "malformed", says: "size of the chunk"},
		"cut off, gzip":            {body: gz(t, recording)[:100], status: 422, reason: "malformed", says: "inflate"},
		"cut off, lz4":             {body: lz4Of(t, reader())[:100], status: 422, reason: "malformed", says: "cannot unpack the payload"},
		"cut off, zip":             {body: zipOf(t, reader, "main.jfr")[:100], status: 422, reason: "malformed", says: "cannot unpack the payload"},
		"zip of others":            {body: zipOf(t, reader, "main.txt"), status: 422, reason: "malformed", says: "no file that ends in .jfr"},
		"zip of two":               {body: zipOf(t, reader, "a.jfr", "b.jfr"), status: 422, reason: "malformed", says: "more than one file that ends in .jfr"},
		"bomb, gzip":               {body: gzipped(t, bomb()), status: 413, reason: "too_large", says: "more than"},
		"bomb, lz4":                {body: lz4Of(t, bomb()), status: 413, reason: "too_large", says: "limits.inflated_bytes"},
		"bomb, zip":                {body: zipOf(t, bomb, "a.jfr"), status: 413, reason: "too_large", says: "limits.inflated_bytes"},
		"gzip bomb in zip":         {body: zipOf(t, func() io.Reader { return bytes.NewReader(gzipped(t, bomb())) }, "a.jfr"), status: 413, reason: "too_large", says: "more than"},
		"a pprof":                  {body: plain(t, cpuProfile(1)), status: 422, reason: "malformed", says: "does not begin with"},
		"something in lz4":         {body: lz4Of(t, bytes.NewReader([]byte("something"))), status: 422, reason: "malformed", says: "68 bytes, 9 are left"},
		"many entries":             {body: zipOf(t, func() io.Reader { return bytes.NewReader(nil) }, make([]string, 10_000)...), status: 422, reason: "malformed", says: "no file that ends in .jfr"},
		"nothing in an lz4":        {body: lz4Of(t, bytes.NewReader(nil)), status: 422, reason: "malformed", says: "no chunk"},
		"two recordings":           {body: formOf("b", "jfr", string(recording), "jfr", string(recording)), headers: asForm, status: 422, reason: "malformed"},
		"a recording and a pprof":  {body: formOf("b", "jfr", string(recording), "profile", string(plain(t, cpuProfile(1)))), headers: asForm, status: 422, reason: "malformed"},
		"bad labels":               {body: formOf("b", "jfr", string(recording), "labels", "\x0a\xff"), headers: asForm, status: 422, reason: "malformed"},
		"neither":                  {body: formOf("b", "labels", "x"), headers: asForm, status: 422, reason: "malformed"},
		"labels in a broken gzip":  {body: formOf("b", "jfr", string(recording), "labels", string(gz(t, jfrtest.Labels())[:20])), headers: asForm, status: 422, reason: "malformed"},
		"a recording that is cut":  {body: formOf("b", "jfr", string(recording[:500])), headers: asForm, status: 422, reason: "malformed"},
		"a recording of no events": {body: formOf("b", "jfr", "x"), headers: asForm, status: 422, reason: "malformed"},
	})
}

// TestRecordingOriginalPayload: the option copies the recording as it was received.
func TestRecordingOriginalPayload(t *testing.T) {
	payload := gz(t, jfrtest.Example().Bytes())
	r := run(t, func(cfg *Config, _ *ServerConfig) { cfg.IncludeOriginalPayload = true })
	got := r.post(t, "/ingest?name=shop&format=jfr", payload)
	require.Equal(t, http.StatusOK, got.status, got.text)
	profile := r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	assert.Equal(t, "jfr", profile.OriginalPayloadFormat())
	assert.Equal(t, payload, profile.OriginalPayload().AsRaw())
}

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
