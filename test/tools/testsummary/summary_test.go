// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgress: a package without tests counts as well, since `go list` does.
func TestProgress(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	s.packages = 10
	require.NoError(t, s.read(strings.NewReader(`{"Action":"skip","Package":"p"}
{"Action":"output","Package":"q","Output":"ok  \tq\t0.1s\n"}
{"Action":"pass","Package":"q"}
`)))
	assert.Equal(t, "  2 of 10  ok  \tq\t0.1s\n", out.String())
}

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		name, events, want string
		good               bool
	}{
		{
			name: "passed and skipped",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: no corpus\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    b_test.go:7: no corpus\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
`,
			want: "ok  \tp\t0.1s\nskipped 2 of p: b_test.go:7: no corpus\n1 passed, 0 failed, 2 skipped\n",
			good: true,
		},
		{
			name: "failed test",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "    a_test.go:3: wrong\nFAIL\tp\t0.1s\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "died in a test",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "panic: no\nFAIL\tp\t0.1s\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "does not build",
			events: `{"ImportPath":"p","Action":"build-output","Output":"p.go:1:1: no\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`,
			want: "p.go:1:1: no\nFAIL\tp [build failed]\n0 passed, 1 failed, 0 skipped\n",
		},
		{name: "no events", events: "go: no such module\n", want: "go: no such module\n0 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			s := newSummary(&out)
			require.NoError(t, s.read(strings.NewReader(test.events)))
			s.close()
			assert.Equal(t, test.want, out.String())
			assert.Equal(t, test.good, s.good())
		})
	}
}
