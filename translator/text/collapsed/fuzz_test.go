// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// FuzzDecode decodes any bytes in any form. A message follows OTLP's rules, and an error has a class.
func FuzzDecode(f *testing.F) {
	for name, form := range forms {
		f.Add(profiletest.Format(f, name), int(form), int64(0))
		f.Add(profiletest.Format(f, name), int(form), int64(10_000_000))
	}
	f.Add([]byte("a;;b 1"), 0, int64(1))
	f.Add([]byte("\x00\x00\xff\xff\xff\xff\x0f"), 3, int64(1))
	f.Fuzz(func(t *testing.T, payload []byte, form int, period int64) {
		limits := pprof.Limits{InflatedBytes: 1 << 16, Samples: 1000}
		pd, stats, err := collapsed.Decode(payload, pprof.Source{}, collapsed.Options{Form: collapsed.Form(form & 3), Period: period, Options: text.Options{Limits: limits}})
		if err != nil {
			require.True(t, errors.Is(err, text.ErrMalformed) || errors.Is(err, text.ErrTooLarge), err)
			return
		}
		require.NoError(t, profiletest.Check(pd))
		require.Equal(t, pd.SampleCount(), stats.OTLPSamples)
	})
}
