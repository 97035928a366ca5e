// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunkrecords has the code that the receiver and the connector for Splunk's profiling records share: the
// configuration of the translation, its metrics, and the log of refused records.
package splunkrecords // import "github.com/otelpprof/otelpprof/internal/splunkrecords"

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// Config is the configuration of the translation.
type Config struct {
	// Limits limits the content of records and requests.
	Limits LimitsConfig `mapstructure:"limits"`

	// SampleShape decides whether samples with equal stack, attributes and link are combined.
	SampleShape string `mapstructure:"sample_shape" words:"combined per_event"`

	// LinkLabels lists the pairs of labels with the trace id and span id of a sample. The first pair that a sample has makes
	// its link.
	LinkLabels []pprof.LinkLabels `mapstructure:"link_labels"`

	// FrameType adds the attribute profile.frame.type to each location.
	FrameType bool `mapstructure:"frame_type"`

	// JVMThreadState makes the states of Java's threads the attribute jvm.thread.state of the semantic conventions.
	JVMThreadState bool `mapstructure:"jvm_thread_state"`

	// KeepGeneratedNames keeps the addresses and counters in the names of classes that a JVM generates, in texts.
	KeepGeneratedNames bool `mapstructure:"keep_generated_names"`

	// KeepEmptyStacks keeps samples without any frame.
	KeepEmptyStacks bool `mapstructure:"keep_empty_stacks"`

	// IncludeOriginalPayload copies the pprof of each record into its profiles.
	IncludeOriginalPayload bool `mapstructure:"include_original_payload"`

	// MetadataFromResource lists resource attributes that are copied to the client metadata.
	MetadataFromResource []string `mapstructure:"metadata_from_resource"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitsConfig limits records. A record that exceeds a limit is refused. Other records of the same request are not.
type LimitsConfig struct {
	// BodyBytes limits the size of a body: of a text, or of a pprof after base64 decoding.
	BodyBytes int `mapstructure:"body_bytes" unit:"bytes"`
	// InflatedBytes limits the decompressed size of a pprof. All pprofs of a request may have four times that size together.
	InflatedBytes int `mapstructure:"inflated_bytes" unit:"bytes"`
	// Samples limits the number of samples of all records of a request together.
	Samples int `mapstructure:"samples"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Replaced has the limits of earlier versions, and what bounds the same now.
func (*LimitsConfig) Replaced() map[string]string {
	replaced := configcheck.ReplacedLimits()
	replaced["frames_per_stack"] = fmt.Sprintf("remove it: a stack may have %d frames", splunk.DefaultLimits().FramesPerStack)
	replaced["string_bytes"] = "remove it: a string of a pprof and a line of a text may have 64 KiB"
	return replaced
}

// The words of sample_shape.
const (
	// SampleShapeCombined combines equal samples into one, with a value and a timestamp for each.
	SampleShapeCombined = "combined"
	// SampleShapePerEvent keeps one sample per event, with one value and one timestamp.
	SampleShapePerEvent = "per_event"
)

// NewDefaultConfig returns a configuration with the defaults of the translator.
func NewDefaultConfig() Config {
	limits := splunk.DefaultLimits()
	return Config{
		Limits:          LimitsConfig{BodyBytes: limits.BodyBytes, InflatedBytes: limits.InflatedBytes, Samples: limits.Samples},
		SampleShape:     SampleShapeCombined,
		LinkLabels:      splunk.DefaultLinkLabels(),
		FrameType:       true,
		KeepEmptyStacks: true,
	}
}

// Check validates the configuration. Each component calls it in its own Validate. It is not called Validate itself:
// components embed Config and would inherit that method, and the Collector would call it twice.
func (cfg *Config) Check() error {
	return errors.Join(
		configcheck.Bytes("limits: body_bytes", cfg.Limits.BodyBytes),
		configcheck.Bytes("limits: inflated_bytes", cfg.Limits.InflatedBytes),
		configcheck.Positive("limits: samples", cfg.Limits.Samples),
		configcheck.LinkLabels(cfg.LinkLabels),
		configcheck.MetadataKeys("metadata_from_resource", cfg.MetadataFromResource),
	)
}

// options returns the options of the translator.
func (cfg *Config) options() splunk.Options {
	options := splunk.Options{
		Limits:                 splunk.Limits{BodyBytes: cfg.Limits.BodyBytes, InflatedBytes: cfg.Limits.InflatedBytes, Samples: cfg.Limits.Samples},
		LinkLabels:             append([]pprof.LinkLabels{}, cfg.LinkLabels...), // nil would be the default
		OmitFrameType:          !cfg.FrameType,
		JVMThreadState:         cfg.JVMThreadState,
		KeepGeneratedNames:     cfg.KeepGeneratedNames,
		DropEmptyStacks:        !cfg.KeepEmptyStacks,
		IncludeOriginalPayload: cfg.IncludeOriginalPayload,
	}
	if cfg.SampleShape == SampleShapePerEvent {
		options.SampleShape = splunk.PerEvent
	}
	return options
}
