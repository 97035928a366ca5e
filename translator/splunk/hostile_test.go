// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestHostileBodies: a record above a limit is refused, with the limit and the number, in bounded memory. The other
// records are accepted.
func TestHostileBodies(t *testing.T) {
	manySamples, manyLabels, deep, longString := newPayload(""), newPayload(""), newPayload(""), newPayload("")
	for i := range 50 {
		manySamples.sample(nil, nil, at(int64(i+1)))
	}
	labels := make([]label, maxLabelsPerSample+1)
	for i := range labels {
		labels[i] = num(fmt.Sprint("label ", i), 1)
	}
	manyLabels.sample(nil, nil, labels...)
	frame := deep.location("f", "a.js", 1)
	deep.sample(slices.Repeat([]uint64{frame}, 101), nil, at(1))
	longString.sample([]uint64{longString.location(strings.Repeat("n", maxStringBytes+1), "", 1)}, nil, at(1))
	manyTypes := newPayload("")
	for range 3 {
		manyTypes.sampleType("a", "b")
	}
	for range 20 {
		manyTypes.sample(nil, []int64{1, 2, 3}, at(1))
	}
	manyTypes.strings = append(manyTypes.strings, "")

	limits := Limits{BodyBytes: 100_000, InflatedBytes: 100_000, Samples: 40, FramesPerStack: 100}
	bomb := base64.StdEncoding.EncodeToString(profiletest.Gzip(t, make([]byte, 100_001)))
	for _, test := range []struct {
		name string
		text bool
		body string
		want string
	}{
		{name: "a bomb", body: bomb, want: "payload too large: more than 100000 bytes after decompression"},
		{name: "a bomb in gzip", body: base64.StdEncoding.EncodeToString(profiletest.Gzip(t, profiletest.Gzip(t, make([]byte, 100_001)))), want: "more than 100000 bytes after decompression"},
		{name: "too large before base64", body: strings.Repeat("A", 200_001), want: "bytes of the body before base64: 200001, the limit is 200000"},
		{name: "too large behind base64", body: strings.Repeat("AAAA", 33_334), want: "bytes of the body behind base64: 100002, the limit is 100000"},
		{name: "many samples", body: manySamples.body(t), want: "samples: 50, the limit is 38"},
		{name: "many samples of several types", body: manyTypes.body(t), want: "samples: 20 of 3 sample types each, the limit is 38 in all"},
		{name: "many labels", body: manyLabels.body(t), want: "labels of sample 0: 1025, the limit is 1024"},
		{name: "a deep stack", body: deep.body(t), want: "locations of sample 0: 101, the limit is 100"},
		{name: "a long string", body: longString.body(t), want: "65537, the limit is 65536"},

		{name: "a long text", text: true, body: strings.Repeat("at a(b:1)\n", 10_001), want: "bytes of the body: 100010, the limit is 100000"},
		{name: "many frames", text: true, body: strings.Repeat("at a(b:1)\n", 101), want: "frames of the stack: 101, the limit is 100"},
		{name: "a long line", text: true, body: "\n\nat a(b:1)\n" + strings.Repeat("x", maxStringBytes+1), want: "bytes of line 4: 65537, the limit is 65536"},
		{name: "a long thread name", text: true, body: "\"" + strings.Repeat("x", maxStringBytes) + "\" #1", want: "bytes of line 1: 65541, the limit is 65536"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest("nodejs")
			r.addPprof(onePayload().body(t))
			r.addText(oneFrame)
			if test.text {
				r.addText(test.body)
			} else {
				r.addPprof(test.body)
			}
			r.addPprof(onePayload().body(t))
			r.addText(oneFrame)
			pd, result := decodeAndCheck(t, r.logs, Options{Limits: limits})
			require.Len(t, result.Refused, 1)
			assert.Equal(t, ReasonTooLarge, result.Refused[0].Reason)
			assert.ErrorContains(t, result.Refused[0].Err, test.want)
			assert.Equal(t, 2, result.Refused[0].Record)
			assert.Equal(t, []int{5, 2, 2, 4}, []int{result.Records, result.PprofRecords, result.TextRecords, result.Events})
			assert.Len(t, profilesOf(pd), 3)
		})
	}
}

// TestRequestLimits: all records of a request share the limits. Records after the limit is reached are refused.
func TestRequestLimits(t *testing.T) {
	t.Run("samples", func(t *testing.T) {
		r := newRequest("nodejs")
		for range 4 {
			r.addPprof(onePayload().body(t))
			r.addText(oneFrame)
		}
		pd, result := decodeAndCheck(t, r.logs, Options{Limits: Limits{Samples: 5}})
		assert.Equal(t, 5, result.Events)
		require.Len(t, result.Refused, 3)
		assert.ErrorContains(t, result.Refused[0].Err, "samples of the request: 6, the limit is 5")
		assert.ErrorContains(t, result.Refused[1].Err, "samples: 1, the limit is 0")
		assert.Len(t, profilesOf(pd), 4)
	})
	t.Run("bytes of good pprofs", func(t *testing.T) {
		r := newRequest("nodejs")
		size := len(onePayload().bytes())
		for range 6 {
			r.addPprof(onePayload().body(t))
		}
		pd, result := decodeAndCheck(t, r.logs, Options{Limits: Limits{InflatedBytes: size}})
		assert.Len(t, profilesOf(pd), 4)
		require.Len(t, result.Refused, 2)
		assert.ErrorContains(t, result.Refused[0].Err, fmt.Sprintf("all pprofs of the request are larger than %d bytes together", 4*size))
		assert.Equal(t, ReasonTooLarge, result.Refused[0].Reason)
	})
	t.Run("bombs that fail at their end", func(t *testing.T) {
		broken := profiletest.Gzip(t, make([]byte, 9_000))
		broken[len(broken)-8]++ // the checksum
		r := newRequest("nodejs")
		for range 20 {
			r.addPprof(base64.StdEncoding.EncodeToString(broken))
		}
		_, result := NewDecoder(Options{Limits: Limits{InflatedBytes: 10_000}}).Decode(r.logs, received, nil)
		require.Len(t, result.Refused, 20)
		assert.ErrorContains(t, result.Refused[0].Err, "checksum")
		assert.ErrorContains(t, result.Refused[9].Err, "all pprofs of the request are larger than 40000 bytes together")
	})
	t.Run("large outer layers", func(t *testing.T) {
		padding := bytes.Repeat(profiletest.Gzip(t, nil), 9_000/len(profiletest.Gzip(t, nil)))
		body := base64.StdEncoding.EncodeToString(profiletest.Gzip(t, append(onePayload().gzip(t), padding...)))
		r := newRequest("nodejs")
		for range 6 {
			r.addPprof(body)
		}
		pd, result := decodeAndCheck(t, r.logs, Options{Limits: Limits{InflatedBytes: 10_000}})
		assert.Len(t, profilesOf(pd), 4)
		require.Len(t, result.Refused, 2)
		assert.ErrorContains(t, result.Refused[1].Err, "all pprofs of the request are larger than 40000 bytes together")
	})
	t.Run("bombs", func(t *testing.T) {
		bomb := base64.StdEncoding.EncodeToString(profiletest.Gzip(t, make([]byte, 100_000)))
		r := newRequest("nodejs")
		for range 3 {
			r.addPprof(bomb)
		}
		r.addPprof(onePayload().body(t))
		r.addPprof(bomb)
		r.addPprof(onePayload().body(t))
		pd, result := decodeAndCheck(t, r.logs, Options{Limits: Limits{InflatedBytes: 10_000}})
		assert.Len(t, profilesOf(pd), 1, "a good record is accepted after three bombs, not after four")
		assert.Len(t, result.Refused, 5)
	})
}

// TestInvalidUTF8: invalid UTF-8 is replaced and counted.
func TestInvalidUTF8(t *testing.T) {
	p := newPayload("bad\xff")
	p.sample([]uint64{p.location("f\xff", "a\xfe.js", 1)}, nil, at(1), str("thread.name", "x\xff"), str("k\xff", "v\xff"), num("bad\xff", 7))
	r := newRequest("nodejs")
	r.addPprof(p.body(t), "event\xff", "x\xff", "list", []any{"a\xff"}, "source.event.name", "n\xff")
	r.addText("\"main\xff\" #1\n   java.lang.Thread.State: \xff\n\tat f\xff(\xffa.js:1)\n", "t\xff", map[string]any{"k\xff": "v"})
	resource := r.logs.ResourceLogs().At(0)
	resource.SetSchemaUrl("schema\xff")
	resource.Resource().Attributes().PutStr("text\xff", "goes")
	resource.Resource().Attributes().PutEmptySlice("list").AppendEmpty().SetStr("a\xff")
	scope := resource.ScopeLogs().At(0)
	scope.SetSchemaUrl("schema\xff")
	scope.Scope().SetVersion("1\xff")
	scope.Scope().Attributes().PutStr("text", "b\xff")
	pd, result := mustDecode(t, r.logs, Options{})
	assert.Positive(t, result.Repairs.InvalidUTF8)
	made := pd.ResourceProfiles().At(0)
	assert.Equal(t, map[string]any{"service.name": "checkout", "telemetry.sdk.language": "nodejs", "list": `["a\ufffd"]`}, made.Resource().Attributes().AsRaw())
	assert.Equal(t, []string{"schema\uFFFD", "schema\uFFFD", "1\uFFFD"},
		[]string{made.SchemaUrl(), made.ScopeProfiles().At(0).SchemaUrl(), made.ScopeProfiles().At(0).Scope().Version()})
	assert.Equal(t, map[string]any{"text": "b\uFFFD"}, made.ScopeProfiles().At(0).Scope().Attributes().AsRaw())
	profiles := profilesOf(pd)
	assert.Equal(t, []string{"f\uFFFD(a\uFFFD.js:1:0)"}, framesOf(pd, profiles[0].Samples().At(0)))
	assert.Equal(t, map[string]any{"thread.name": "x\uFFFD", "k\uFFFD": "v\uFFFD", "bad\uFFFD": int64(7)},
		attributesOf(pd, profiles[0].Samples().At(0).AttributeIndices()))
	assert.Equal(t, []string{"f\uFFFD(\uFFFDa.js:1:0)"}, framesOf(pd, profiles[1].Samples().At(0)))
	assert.Equal(t, `["a\ufffd"]`, attributesOf(pd, profiles[0].AttributeIndices())["list"])
}

// TestRefusedRecordsLeaveNothing: a pprof whose fault is found late leaves no entry in the dictionary, and does not count
// toward the limits.
func TestRefusedRecordsLeaveNothing(t *testing.T) {
	late := newPayload("")
	late.sample([]uint64{late.location("leftover", "left.js", 1)}, nil, at(1), str("left", "over"))
	late.sample([]uint64{99}, nil, at(2))
	r := newRequest("nodejs")
	r.addPprof(onePayload().body(t))
	r.addPprof(late.body(t))
	r.addPprof(interleaved().body(t))
	pd, result := decodeAndCheck(t, r.logs, Options{Limits: Limits{Samples: 7}})
	require.Len(t, result.Refused, 1)
	assert.Equal(t, 7, result.Events)
	assert.ErrorContains(t, result.Refused[0].Err, "location id 99 does not exist")
	for _, s := range pd.Dictionary().StringTable().All() {
		assert.NotContains(t, s, "left")
	}

	only := newRequest("nodejs")
	only.addPprof(late.body(t))
	pd, _ = decodeAndCheck(t, only.logs, Options{})
	assert.Zero(t, pd.ResourceProfiles().Len())
	assert.Zero(t, pd.Dictionary().StringTable().Len())
}

// TestTruncatedEverywhere cuts a real record at every byte, before base64 and before compression. Nothing panics, and
// only the whole record is accepted.
func TestTruncatedEverywhere(t *testing.T) {
	logs := captureOf(t, "splunk-otel-java/pprof-v2-snapshot.pb")
	record := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	whole := record.Body().Str()
	compressed, err := base64.StdEncoding.DecodeString(whole)
	require.NoError(t, err)
	raw := inflated(t, compressed)
	decoder := NewDecoder(Options{})
	refused := func(body string) bool {
		record.Body().SetStr(body)
		_, result := decoder.Decode(logs, received, nil)
		return len(result.Refused) == 1
	}
	require.False(t, refused(whole))
	for i := range strings.TrimRight(whole, "=") {
		require.True(t, refused(whole[:i]), i)
	}
	for i := range raw {
		body := raw[:i]
		record.Body().SetEmptyBytes().FromRaw(profiletest.Gzip(t, body))
		pd, result := decoder.Decode(logs, received, nil)
		if len(result.Refused) == 0 {
			require.NoError(t, checkOptions.Check(pd), i)
		}
	}
}

func inflated(t *testing.T, compressed []byte) []byte {
	t.Helper()
	d := &decoding{dict: dictionary.New()}
	d.begin(&Options{Limits: DefaultLimits()}, 0)
	d.payload = compressed
	require.Nil(t, d.inflate())
	return d.inflated
}

// TestAttributesOfManyTypes: each sample type repeats the attributes of the record.
func TestAttributesOfManyTypes(t *testing.T) {
	r, p := newRequest("nodejs"), newPayload("")
	for range 256 {
		p.sampleType("a", "b")
	}
	p.sample(nil, make([]int64, 256))
	addWide(t, r.add(p.body(t)).Attributes(), 4_000)
	r.addPprof(onePayload().body(t))
	_, result := decodeAndCheck(t, r.logs, Options{Limits: DefaultLimits()})
	require.Len(t, result.Refused, 1)
	assert.Equal(t, ReasonTooLarge, result.Refused[0].Reason)
	assert.ErrorContains(t, result.Refused[0].Err, "attributes of the record: 400")
	assert.ErrorContains(t, result.Refused[0].Err, "for 256 sample types each, the limit is 1000000 in all, with the samples")
	assert.Equal(t, 1, result.PprofRecords)
}
