// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestDeepValues sends attributes that are nested so deeply that a recursive reader would end the process. The profile is
// refused and counted, and the other profiles of the message are stored.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 256<<20) // pdata measures a message by calling itself for each level
	for _, place := range []string{"resource", "sample"} {
		t.Run(place, func(t *testing.T) {
			s := newServing(t, nil)
			pd := deliverytest.Request(t, deliverytest.CPU(t, "deep"), deliverytest.CPU(t, "sound"))
			profiletest.Deepen(pd, place, 1_000_000)
			err := s.ConsumeProfiles(t.Context(), pd)
			require.ErrorContains(t, err, `attribute "deep" is too deep`)
			assert.True(t, consumererror.IsPermanent(err))
			assert.Equal(t, []string{"cpu"}, s.types(t, "sound"))
			assert.Positive(t, counted(t, s.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))
		})
	}
}
