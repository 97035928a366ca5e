// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// TestGeneratedNames: frames of a lambda are equal in all formats, whatever the addresses of their classes are, unless the option keeps
// the addresses.
func TestGeneratedNames(t *testing.T) {
	const first, second = "App$$Lambda$75.0x00007ff44c0c4208.call", "App$$Lambda$9/0x000000080157a000.call"
	for name, test := range map[string]struct {
		decode  texttest.Decode
		payload string
	}{
		"collapsed":  {inForm(collapsed.Groups), first + " 1\n" + second + " 2\n"},
		"speedscope": {speedscope.Decode, `{"shared":{"frames":[{"name":"` + first + `"},{"name":"` + second + `"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0],[1]],"weights":[1,2]}]}`},
		"cpuprofile": {cpuprofile.Decode, `{"nodes":[{"id":1,"callFrame":{"functionName":"` + first + `"}},{"id":2,"callFrame":{"functionName":"` + second + `"}}],"startTime":1,"endTime":2,"samples":[1,2],"timeDeltas":[0,0]}`},
		"perfscript": {perfscript.Decode, "java 1 2.5: 1 e:\n\t1 " + first + " (/tmp/perf-1.map)\n\njava 1 2.6: 2 e:\n\t1 " + second + " (/tmp/perf-1.map)\n"},
	} {
		pd, stats, err := test.decode([]byte(test.payload), pprof.Source{}, text.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, 1, stats.OTLPSamples, name)
		assert.Contains(t, pd.Dictionary().StringTable().AsRaw(), "App$$Lambda_.call", name)
		pd, stats, err = test.decode([]byte(test.payload), pprof.Source{}, text.Options{KeepGeneratedNames: true})
		require.NoError(t, err, name)
		assert.Equal(t, 2, stats.OTLPSamples, name)
		assert.Subset(t, pd.Dictionary().StringTable().AsRaw(), []string{first, second}, name)
	}
}
