// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
)

// FuzzDecode decodes any bytes. A message follows OTLP's rules, and an error has a class.
func FuzzDecode(f *testing.F) {
	f.Add(profiletest.Format(f, "node.cpuprofile"))
	f.Add(file(tree, "[2,3,4]", "[1,-2,3]"))
	f.Add([]byte(`{"timeDeltas":[1],"samples":[2],"endTime":1795369073000002,"startTime":1795369073000000,"nodes":[{"id":2,"parent":1,"callFrame":{}},{"id":1,"callFrame":{}}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		pd, stats, err := cpuprofile.Decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{InflatedBytes: 1 << 16}})
		if err != nil {
			require.True(t, errors.Is(err, text.ErrMalformed) || errors.Is(err, text.ErrTooLarge), err)
			return
		}
		require.NoError(t, profiletest.Check(pd))
		require.Equal(t, pd.SampleCount(), stats.OTLPSamples)
	})
}
