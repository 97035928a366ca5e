// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestDeepValues sends to each destination a value that is nested so deeply that code which recurses into it ends the process. A
// queue on disk would do so at each start. The profile is refused and counted. The other profiles of the message arrive.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 64<<20) // pdata measures a message by calling itself for each level
	send := func(t *testing.T, to xexporter.Profiles, place string) {
		t.Helper()
		pd := deliverytest.Request(t, deliverytest.CPU(t, "deep"), deliverytest.CPU(t, "sound"))
		profiletest.Deepen(pd, place, 250_000)
		err := to.ConsumeProfiles(t.Context(), pd)
		require.ErrorContains(t, err, `attribute "deep" is too deep`)
		assert.True(t, consumererror.IsPermanent(err))
	}
	for _, place := range []string{"resource", "sample"} {
		t.Run(place, func(t *testing.T) {
			file := newFixture(t, nil)
			send(t, file, place)
			assert.Positive(t, file.services(t)["sound"])
			assert.Positive(t, counted(t, file.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))

			backend := newSink(t, nil)
			pushing := newPushing(t, backend.URL, nil)
			send(t, pushing, place)
			assert.NotEmpty(t, backend.requests())
			assert.Positive(t, counted(t, pushing.telemetry, "profiles_refused", "reason", delivery.ReasonInvalid))
		})
	}
}
