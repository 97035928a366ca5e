// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestTimestampLabels(t *testing.T) {
	option := []TimestampLabelConfig{
		{Preset: PresetSplunk},
		{Preset: PresetDatadog},
		{Preset: PresetOtelpprof},
		{Label: "a", Unit: Nanoseconds},
		{Label: "b", Unit: Microseconds},
		{Label: "c", Unit: Milliseconds},
		{Label: "d", Unit: Seconds},
	}
	assert.NoError(t, checkTimestampLabels(option))
	assert.Equal(t, []pprof.TimestampLabel{
		{Label: "source.event.time", Unit: time.Millisecond},
		{Label: "end_timestamp_ns", Unit: time.Nanosecond},
		{Label: "timestamp", Unit: time.Nanosecond},
		{Label: "a", Unit: time.Nanosecond},
		{Label: "b", Unit: time.Microsecond},
		{Label: "c", Unit: time.Millisecond},
		{Label: "d", Unit: time.Second},
	}, timestampLabels(option))
	assert.Nil(t, timestampLabels(nil))
}

func TestCheckTimestampLabels(t *testing.T) {
	const neither, both = "timestamp_labels[0] must have a label and its unit, or a preset",
		"timestamp_labels[0] has a preset, so it cannot have a label or unit"
	for want, entries := range map[string][]TimestampLabelConfig{
		neither: {{}, {Label: "a"}, {Unit: Seconds}},
		both:    {{Preset: PresetSplunk, Label: "a"}, {Preset: PresetSplunk, Unit: Seconds}},
	} {
		for _, entry := range entries {
			assert.EqualError(t, checkTimestampLabels([]TimestampLabelConfig{entry}), want)
		}
	}
}
