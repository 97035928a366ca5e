// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"errors"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/payloadconfig"
	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// Config is the configuration of the translation.
type Config struct {
	// Limits limits the content of a record, and of a request.
	Limits LimitsConfig `mapstructure:"limits"`

	// SampleShape is the form of samples with equal stack, attributes and link.
	SampleShape SampleShape `mapstructure:"sample_shape"`

	// LinkLabels names the pairs of labels that tie a sample to a span; the first pair found makes the link.
	LinkLabels []payloadconfig.LinkLabelsConfig `mapstructure:"link_labels"`

	// FrameType gives each location the attribute profile.frame.type.
	FrameType bool `mapstructure:"frame_type"`

	// JVMThreadState makes the states of Java's threads the attribute jvm.thread.state of the semantic conventions.
	JVMThreadState bool `mapstructure:"jvm_thread_state"`

	// KeepEmptyStacks keeps samples without any frame.
	KeepEmptyStacks bool `mapstructure:"keep_empty_stacks"`

	// IncludeOriginalPayload copies the pprof of each record into the profiles made of it.
	IncludeOriginalPayload bool `mapstructure:"include_original_payload"`

	// MetadataFromResource are resource attributes that become client metadata.
	MetadataFromResource []string `mapstructure:"metadata_from_resource"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitsConfig limits records. A record above any of these limits is refused, the others of its request are not.
type LimitsConfig struct {
	// BodyBytes is the size of a body: of a text, or of a pprof after base64 decoding.
	BodyBytes int `mapstructure:"body_bytes" unit:"bytes"`
	// InflatedBytes is the decompressed size of a pprof; a request may have four times that.
	InflatedBytes int `mapstructure:"inflated_bytes" unit:"bytes"`
	// Samples is the number of samples of all records of a request.
	Samples int `mapstructure:"samples"`
	// FramesPerStack is the depth of one stack.
	FramesPerStack int `mapstructure:"frames_per_stack"`
	// StringBytes is the length of one string of a pprof, or of one line of a text.
	StringBytes                     int `mapstructure:"string_bytes" unit:"bytes"`
	payloadconfig.EntryLimitsConfig `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// SampleShape is the form of samples. Its values are SampleShapeCombined and SampleShapePerEvent.
type SampleShape string

const (
	// SampleShapeCombined makes one sample of equal ones, with as many values as timestamps.
	SampleShapeCombined SampleShape = "combined"
	// SampleShapePerEvent makes one sample of each, with one value and one timestamp.
	SampleShapePerEvent SampleShape = "per_event"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (s *SampleShape) UnmarshalText(text []byte) error {
	return configcheck.Word(s, text, "sample_shape", SampleShapeCombined, SampleShapePerEvent)
}

// NewDefaultConfig returns the configuration with the defaults of the translator.
func NewDefaultConfig() Config {
	cfg := Config{
		SampleShape:     SampleShapeCombined,
		LinkLabels:      payloadconfig.NewLinkLabelsConfig(splunk.DefaultLinkLabels()),
		FrameType:       true,
		KeepEmptyStacks: true,
	}
	payloadconfig.CopyLimits(&cfg.Limits, splunk.DefaultLimits())
	return cfg
}

// Check validates the configuration. Each component calls it in its Validate: it embeds this configuration, and would
// inherit a Validate of it, which the Collector would then call twice.
func (cfg *Config) Check() error {
	return errors.Join(
		payloadconfig.CheckLimits(cfg.Limits, "limits: "),
		payloadconfig.CheckLinkLabels(cfg.LinkLabels),
		resourcemetadata.Validate(cfg.MetadataFromResource),
	)
}

// options returns the options of the translator.
func (cfg *Config) options() splunk.Options {
	options := splunk.Options{
		LinkLabels:             payloadconfig.LinkLabels(cfg.LinkLabels),
		OmitFrameType:          !cfg.FrameType,
		JVMThreadState:         cfg.JVMThreadState,
		DropEmptyStacks:        !cfg.KeepEmptyStacks,
		IncludeOriginalPayload: cfg.IncludeOriginalPayload,
	}
	if cfg.SampleShape == SampleShapePerEvent {
		options.SampleShape = splunk.PerEvent
	}
	payloadconfig.CopyLimits(&options.Limits, cfg.Limits)
	return options
}
