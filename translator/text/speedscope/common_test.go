// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope_test

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var format texttest.Decode = speedscope.Decode

func TestGolden(t *testing.T) {
	format.Golden(t, "speedscope.json", pprof.Source{ScopeName: "scope", ProfileName: "for those without a name"})
}

// TestRoundTrip: the first profile has open frames for 9.5 ms, the second for 300 ms.
func TestRoundTrip(t *testing.T) {
	format.RoundTrip(t, profiletest.Format(t, "speedscope.json"), map[string]int64{
		"wall/nanoseconds": 9_500_000 + 300_000_000, "space/bytes": 96, "samples/count": 3,
	})
}

func TestOriginalPayload(t *testing.T) {
	format.Original(t, string(file(sampled("none", "1"))), "speedscope")
}

func FuzzDecode(f *testing.F) {
	f.Add(profiletest.Format(f, "speedscope.json"))
	f.Add(file(sampled("none", "1,2"), evented(`{"type":"O","at":1,"frame":0},{"type":"C","at":3,"frame":0}`)))
	f.Fuzz(format.Fuzz)
}

// TestLinearTime: the time grows linearly with the file. Samples and events repeat the frames that are open, up to the limit of frames.
func TestLinearTime(t *testing.T) {
	const frames = `{"shared":{"frames":[{"name":"a"},{"name":"\u0062"}]},"profiles":[{"unit":"none","startValue":0,"endValue":9,`
	const events = `"type":"evented","events":[`
	const samples = `"type":"sampled","weights":[],"samples":[`
	for _, c := range []struct {
		head, tail string
		tokens     []string
	}{
		{"", "", []string{" ", "\n", "{", "[", `"`, `\`, "1", "-", "null", `{"a":`, `"a",`, `[1,`, "\xff"}},
		{`{"a":"`, `"}`, []string{`\\`, `\u00e9`, "a", `\"`, "\xff"}},
		{`{"shared":{"frames":[`, `{}]},"profiles":[]}`, []string{"{},", `{"name":"a"},`, "1,", "[],", " ", `{"name":"\n"},`}},
		{`{"profiles":[`, `{}],"shared":{"frames":[]}}`, []string{"{},", "[[]],", " ", `{"events":[]},`}},
		{frames + events, `{"type":"C","frame":0,"at":9}]}]}`, []string{
			`{"type":"O","frame":0,"at":1},`, `{"type":"C","frame":0,"at":1},`, `{"type":"\u004f","frame":1,"at":1.0},`, `{"at":1,"frame":0,"type":"X"},`, "{},", " ",
		}},
		{frames + samples, `[]]}]}`, []string{"[0,1],", "[],", "[1,1,1,1,1,1],", " ", "1,"}},
	} {
		format.Linear(t, c.head, c.tail, c.tokens)
	}
}

// BenchmarkFormat reads 20,000 samples.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	payload.WriteString(`{"shared":{"frames":[{"name":"main"},{"name":"handle"},{"name":"checkout"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]`)
	payload.WriteString(strings.Repeat(",[0,1,2]", 19_999) + `],"weights":[1` + strings.Repeat(",1", 19_999) + "]}]}")
	format.Benchmark(b, "speedscope", payload.Bytes())
}
