// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestEncodeOptions(t *testing.T) {
	cfg := EncodingConfig{
		MaxPprofBytes:         1_000_000,
		Timestamps:            TimestampsLabel,
		LinkLabels:            LinkLabelsConfig{Trace: "trace id", Span: "span id"},
		ResourceComments:      true,
		PreferOriginalPayload: true,
	}
	assert.Equal(t, pprof.EncodeOptions{
		PprofBytes:            1_000_000,
		TimestampLabels:       true,
		LinkLabels:            pprof.LinkLabels{Trace: "trace id", Span: "span id"},
		ResourceComments:      true,
		PreferOriginalPayload: true,
	}, cfg.encodeOptions())
}
