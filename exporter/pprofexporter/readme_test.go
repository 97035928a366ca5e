// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
)

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	deliverytest.CheckOptions(t, *createDefaultConfig().(*Config), "")
	deliverytest.CheckOptions(t, options.NewDefaultEncodingConfig(), "")
	deliverytest.CheckOptions(t, options.NewDefaultEncodingConfig().LinkLabels, "link_labels::")
	deliverytest.CheckOptions(t, newDefaultFileConfig(), "")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig(), "")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig().Labels, "labels::")
	deliverytest.CheckOptions(t, newDefaultHTTPConfig().Tenant, "tenant::")
}

// The table of errors has the reasons of the metrics. The example of a cleaned name is real.
func TestReadmeTells(t *testing.T) {
	text := deliverytest.Readme(t)
	for metric, reasons := range map[string][]string{
		"write_failures":   {failedFull, failedDenied, failedOther},
		"profiles_refused": {delivery.ReasonInvalid, refusedBlocked, refusedRejected, delivery.ReasonTooLarge},
	} {
		for _, reason := range reasons {
			assert.Contains(t, text, fmt.Sprintf("| `%s`, `%s` |", metric, reason))
		}
	}
	f := newFixture(t, nil)
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a/b")))
	for service := range f.services(t) {
		assert.Contains(t, text, "`a/b` becomes `"+service+"`")
	}
}
