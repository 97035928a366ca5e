// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunkrecords

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/internal/resourcemetadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// Config is the configuration of the translation.
type Config struct {
	// Limits bound what a record, and a request, may hold.
	Limits LimitsConfig `mapstructure:"limits"`

	// SampleShape says how samples of equal stack, attributes and link are written.
	SampleShape SampleShape `mapstructure:"sample_shape"`

	// LinkLabels names the pairs of labels that tie a sample to a span; the first pair found makes the link.
	LinkLabels []LinkLabelsConfig `mapstructure:"link_labels"`

	// FrameType gives each location the attribute profile.frame.type.
	FrameType bool `mapstructure:"frame_type"`

	// KeepEmptyStacks keeps samples without any frame.
	KeepEmptyStacks bool `mapstructure:"keep_empty_stacks"`

	// IncludeOriginalPayload copies the pprof of each record into the profiles made of it.
	IncludeOriginalPayload bool `mapstructure:"include_original_payload"`

	// MetadataFromResource are attributes of resources that go into the metadata of the client.
	MetadataFromResource []string `mapstructure:"metadata_from_resource"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitsConfig bounds records. One that exceeds any of these is refused, its neighbours are not.
type LimitsConfig struct {
	// BodyBytes is the size of a body: that of a text, or of a pprof behind base64.
	BodyBytes int `mapstructure:"body_bytes" unit:"bytes"`
	// InflatedBytes is the size of a pprof behind its compression; a request may have four times that.
	InflatedBytes int `mapstructure:"inflated_bytes" unit:"bytes"`
	// Samples is the number of samples of all records of a request.
	Samples int `mapstructure:"samples"`
	// FramesPerStack is the depth of one stack.
	FramesPerStack int `mapstructure:"frames_per_stack"`
	// StringBytes is the length of one string of a pprof, or of one line of a text.
	StringBytes int `mapstructure:"string_bytes" unit:"bytes"`
	// Labels is the number of labels of all samples, of one pprof.
	Labels int `mapstructure:"labels"`
	// Mappings is the number of mappings, of one pprof.
	Mappings int `mapstructure:"mappings"`
	// Locations is the number of locations, of one pprof.
	Locations int `mapstructure:"locations"`
	// Lines is the number of lines of all locations, of one pprof.
	Lines int `mapstructure:"lines"`
	// LinesPerLocation is the number of lines of one location: the functions that are inlined there, of one pprof.
	LinesPerLocation int `mapstructure:"lines_per_location"`
	// Functions is the number of functions, of one pprof.
	Functions int `mapstructure:"functions"`
	// Strings is the number of strings, of one pprof.
	Strings int `mapstructure:"strings"`
	// Comments is the number of comments, of one pprof.
	Comments int `mapstructure:"comments"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LinkLabelsConfig names a pair of labels. Span may be empty: the trace alone makes the link.
type LinkLabelsConfig struct {
	Trace string `mapstructure:"trace"`
	Span  string `mapstructure:"span"`
	// Decimal says that ids are decimal numbers, unless a trace id has 32 digits: then it is hexadecimal.
	Decimal bool `mapstructure:"decimal"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// SampleShape says how samples are written. Its values are SampleShapeCombined and SampleShapePerEvent.
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

// NewDefaultConfig returns the configuration of one that says nothing.
func NewDefaultConfig() Config {
	limits := splunk.DefaultLimits()
	cfg := Config{
		Limits: LimitsConfig{
			BodyBytes:        limits.BodyBytes,
			InflatedBytes:    limits.InflatedBytes,
			Samples:          limits.Samples,
			FramesPerStack:   limits.FramesPerStack,
			StringBytes:      limits.StringBytes,
			Labels:           limits.Labels,
			Mappings:         limits.Mappings,
			Locations:        limits.Locations,
			Lines:            limits.Lines,
			LinesPerLocation: limits.LinesPerLocation,
			Functions:        limits.Functions,
			Strings:          limits.Strings,
			Comments:         limits.Comments,
		},
		SampleShape:     SampleShapeCombined,
		FrameType:       true,
		KeepEmptyStacks: true,
	}
	for _, pair := range splunk.DefaultLinkLabels() {
		cfg.LinkLabels = append(cfg.LinkLabels, LinkLabelsConfig{Trace: pair.Trace, Span: pair.Span, Decimal: pair.Decimal})
	}
	return cfg
}

// Check is for the Validate methods of the configurations that this one is part of. As Validate it would be called for them
// and for itself.
func (cfg *Config) Check() error {
	errs := []error{cfg.Limits.check()}
	for i, pair := range cfg.LinkLabels {
		if pair.Trace == "" {
			errs = append(errs, fmt.Errorf("link_labels[%d].trace must be set", i))
		}
	}
	errs = append(errs, resourcemetadata.Validate(cfg.MetadataFromResource))
	return errors.Join(errs...)
}

// check refuses limits that would refuse everything.
func (l *LimitsConfig) check() error {
	var errs []error
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"body_bytes", l.BodyBytes},
		{"inflated_bytes", l.InflatedBytes},
		{"samples", l.Samples},
		{"frames_per_stack", l.FramesPerStack},
		{"string_bytes", l.StringBytes},
		{"labels", l.Labels},
		{"mappings", l.Mappings},
		{"locations", l.Locations},
		{"lines", l.Lines},
		{"lines_per_location", l.LinesPerLocation},
		{"functions", l.Functions},
		{"strings", l.Strings},
		{"comments", l.Comments},
	} {
		if limit.value <= 0 {
			errs = append(errs, fmt.Errorf("limits: %s must be above 0, is %d", limit.name, limit.value))
		}
	}
	return errors.Join(errs...)
}

// options returns what the translator is to do.
func (cfg *Config) options() splunk.Options {
	links := make([]pprof.LinkLabels, 0, len(cfg.LinkLabels)) // Empty is not nil: it means no links.
	for _, pair := range cfg.LinkLabels {
		links = append(links, pprof.LinkLabels{Trace: pair.Trace, Span: pair.Span, Decimal: pair.Decimal})
	}
	shape := splunk.Combined
	if cfg.SampleShape == SampleShapePerEvent {
		shape = splunk.PerEvent
	}
	return splunk.Options{
		Limits: splunk.Limits{
			BodyBytes:        cfg.Limits.BodyBytes,
			InflatedBytes:    cfg.Limits.InflatedBytes,
			Samples:          cfg.Limits.Samples,
			FramesPerStack:   cfg.Limits.FramesPerStack,
			StringBytes:      cfg.Limits.StringBytes,
			Labels:           cfg.Limits.Labels,
			Mappings:         cfg.Limits.Mappings,
			Locations:        cfg.Limits.Locations,
			Lines:            cfg.Limits.Lines,
			LinesPerLocation: cfg.Limits.LinesPerLocation,
			Functions:        cfg.Limits.Functions,
			Strings:          cfg.Limits.Strings,
			Comments:         cfg.Limits.Comments,
		},
		SampleShape:            shape,
		LinkLabels:             links,
		OmitFrameType:          !cfg.FrameType,
		DropEmptyStacks:        !cfg.KeepEmptyStacks,
		IncludeOriginalPayload: cfg.IncludeOriginalPayload,
	}
}
