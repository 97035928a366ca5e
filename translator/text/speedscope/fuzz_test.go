// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package speedscope_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// FuzzDecode decodes any bytes. A message follows OTLP's rules, and an error has a class.
func FuzzDecode(f *testing.F) {
	f.Add(profiletest.Format(f, "speedscope.json"))
	f.Add(file(sampled("none", "1,2"), evented(`{"type":"O","at":1,"frame":0},{"type":"C","at":3,"frame":0}`)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		pd, stats, err := speedscope.Decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{InflatedBytes: 1 << 16}})
		if err != nil {
			require.True(t, errors.Is(err, text.ErrMalformed) || errors.Is(err, text.ErrTooLarge), err)
			return
		}
		require.NoError(t, profiletest.Check(pd))
		require.Equal(t, pd.SampleCount(), stats.OTLPSamples)
	})
}
