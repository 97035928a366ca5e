// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope_test

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

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
		profiletest.CheckLinear(t, c.head, c.tail, c.tokens, func(file []byte) {
			_, _, _ = speedscope.Decode(file, pprof.Source{}, text.Options{Limits: pprof.Limits{LocationsPerSample: 100}})
		})
	}
}
