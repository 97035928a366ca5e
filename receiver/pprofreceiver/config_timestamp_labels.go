// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TimestampLabelConfig names a label with the time of an event, and its unit; or a preset.
type TimestampLabelConfig struct {
	Label string `mapstructure:"label"`
	Unit  string `mapstructure:"unit" words:"nanoseconds microseconds milliseconds seconds"`
	// Preset stands for the label of a profiler, with its unit.
	Preset string `mapstructure:"preset" words:"splunk datadog otelpprof"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// unitLengths has the length of each unit.
var unitLengths = map[string]time.Duration{
	"nanoseconds": time.Nanosecond, "microseconds": time.Microsecond, "milliseconds": time.Millisecond, "seconds": time.Second,
}

// timestampPresets has the label of each preset: Splunk's agents, Datadog's profilers, and the exporters of this project.
var timestampPresets = map[string]pprof.TimestampLabel{
	"splunk":    {Label: "source.event.time", Unit: time.Millisecond},
	"datadog":   {Label: "end_timestamp_ns", Unit: time.Nanosecond},
	"otelpprof": pprof.EncoderTimestampLabel(),
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
