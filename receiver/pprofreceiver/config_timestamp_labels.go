// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TimestampLabelConfig names a label with the time of an event, and its unit; or a preset.
type TimestampLabelConfig struct {
	Label string   `mapstructure:"label"`
	Unit  TimeUnit `mapstructure:"unit"`
	// Preset stands for the label of a profiler, with its unit.
	Preset TimestampPreset `mapstructure:"preset"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// TimeUnit is the unit of a time that is a number.
type TimeUnit string

// The units.
const (
	Nanoseconds  TimeUnit = "nanoseconds"
	Microseconds TimeUnit = "microseconds"
	Milliseconds TimeUnit = "milliseconds"
	Seconds      TimeUnit = "seconds"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (u *TimeUnit) UnmarshalText(text []byte) error {
	return configcheck.Word(u, text, "unit", Nanoseconds, Microseconds, Milliseconds, Seconds)
}

// unitLengths has the length of each unit.
var unitLengths = map[TimeUnit]time.Duration{
	Nanoseconds: time.Nanosecond, Microseconds: time.Microsecond, Milliseconds: time.Millisecond, Seconds: time.Second,
}

// TimestampPreset is whose label it is.
type TimestampPreset string

// The presets: Splunk's agents, Datadog's profilers, and the exporters of this project.
const (
	PresetSplunk    TimestampPreset = "splunk"
	PresetDatadog   TimestampPreset = "datadog"
	PresetOtelpprof TimestampPreset = "otelpprof"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (p *TimestampPreset) UnmarshalText(text []byte) error {
	return configcheck.Word(p, text, "preset", PresetSplunk, PresetDatadog, PresetOtelpprof)
}

// timestampPresets has the label of each preset.
var timestampPresets = map[TimestampPreset]pprof.TimestampLabel{
	PresetSplunk:    {Label: "source.event.time", Unit: time.Millisecond},
	PresetDatadog:   {Label: "end_timestamp_ns", Unit: time.Nanosecond},
	PresetOtelpprof: pprof.EncoderTimestampLabel(),
}

// checkTimestampLabels returns an error for each entry of the option timestamp_labels that is neither a preset nor a label
// with its unit.
func checkTimestampLabels(option []TimestampLabelConfig) error {
	var errs []error
	for i, entry := range option {
		switch isLabel := entry.Label != "" && entry.Unit != ""; {
		case entry.Preset != "" && (entry.Label != "" || entry.Unit != ""):
			errs = append(errs, fmt.Errorf("timestamp_labels[%d] has a preset, so it cannot have a label or unit", i))
		case entry.Preset == "" && !isLabel:
			errs = append(errs, fmt.Errorf("timestamp_labels[%d] must have a label and its unit, or a preset", i))
		}
	}
	return errors.Join(errs...)
}

// timestampLabels returns the labels of the option timestamp_labels for a translator.
func timestampLabels(option []TimestampLabelConfig) []pprof.TimestampLabel {
	var labels []pprof.TimestampLabel
	for _, entry := range option {
		if entry.Preset != "" {
			labels = append(labels, timestampPresets[entry.Preset])
		} else {
			labels = append(labels, pprof.TimestampLabel{Label: entry.Label, Unit: unitLengths[entry.Unit]})
		}
	}
	return labels
}
