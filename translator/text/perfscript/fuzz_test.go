// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
)

// FuzzDecode decodes any bytes. A message follows OTLP's rules, and an error has a class.
func FuzzDecode(f *testing.F) {
	for name := range outputs {
		f.Add(profiletest.Format(f, name))
	}
	f.Add([]byte("Web Content [x] 1.2: 5/6 [001] 2.000001: 9 task-clock:u:\n\t2 in (inlined)\n\t3 out (/a (deleted))\n"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		pd, stats, err := perfscript.Decode(payload, pprof.Source{}, text.Options{Limits: pprof.Limits{InflatedBytes: 1 << 16}})
		if err != nil {
			require.True(t, errors.Is(err, text.ErrMalformed) || errors.Is(err, text.ErrTooLarge), err)
			return
		}
		require.NoError(t, profiletest.Check(pd))
		require.Equal(t, pd.SampleCount(), stats.OTLPSamples)
	})
}
