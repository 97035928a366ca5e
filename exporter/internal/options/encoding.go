// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// EncodingConfig configures how profiles are encoded as pprofs.
type EncodingConfig struct {
	// MaxPprofBytes limits the uncompressed size of all pprofs of one request together (default: 67108864).
	MaxPprofBytes int `mapstructure:"max_pprof_bytes" unit:"bytes"`
	// Timestamps says how timestamps of samples are written, since pprof has no field for them (default: total).
	Timestamps Timestamps `mapstructure:"timestamps"`
	// LinkLabels names the labels for the trace id and span id of a sample.
	LinkLabels LinkLabelsConfig `mapstructure:"link_labels"`
	// ResourceComments writes the attributes of the resource as comments "resource:key=value".
	ResourceComments bool `mapstructure:"resource_comments"`
	// PreferOriginalPayload writes the original pprof of a profile, if the profile contains it, with the compression of the exporter.
	PreferOriginalPayload bool `mapstructure:"prefer_original_payload"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LinkLabelsConfig names the labels for the link of a sample.
type LinkLabelsConfig struct {
	// Trace is the label of the trace ID (default: trace_id).
	Trace string `mapstructure:"trace"`
	// Span is the label of the span ID (default: span_id). If it is empty, the span ID is not written.
	Span string `mapstructure:"span"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Timestamps is TimestampsTotal or TimestampsLabel.
type Timestamps string

const (
	// TimestampsTotal writes one sample with the sum of the values, without timestamps.
	TimestampsTotal Timestamps = "total"
	// TimestampsLabel writes one sample per timestamp, with the label "timestamp" in nanoseconds.
	TimestampsLabel Timestamps = "label"
)

var _ confmap.Validator = (*EncodingConfig)(nil)

// NewDefaultEncodingConfig returns the defaults.
func NewDefaultEncodingConfig() EncodingConfig {
	return EncodingConfig{
		MaxPprofBytes: pprof.DefaultPprofBytes,
		Timestamps:    TimestampsTotal,
		LinkLabels:    LinkLabelsConfig{Trace: "trace_id", Span: "span_id"},
	}
}

// UnmarshalText returns an error for any other word.
func (t *Timestamps) UnmarshalText(text []byte) error {
	return configcheck.Word(t, text, "timestamps", TimestampsTotal, TimestampsLabel)
}

// Validate returns all errors in the configuration.
func (c *EncodingConfig) Validate() error {
	err := configcheck.Positive("max_pprof_bytes", c.MaxPprofBytes)
	if c.LinkLabels.Trace == "" {
		err = errors.Join(errors.New("link_labels::trace must not be empty"), err)
	}
	return err
}

// Encoder returns an encoder with these options.
func (c *EncodingConfig) Encoder() *pprof.Encoder { return pprof.NewEncoder(c.encodeOptions()) }

// SearchEncoder returns an encoder with these options for pprofs whose samples are searched by the labels of their links.
func (c *EncodingConfig) SearchEncoder() *pprof.Encoder {
	options := c.encodeOptions()
	options.AllLinkLabels = true
	return pprof.NewEncoder(options)
}

func (c *EncodingConfig) encodeOptions() pprof.EncodeOptions {
	return pprof.EncodeOptions{
		PprofBytes:            c.MaxPprofBytes,
		TimestampLabels:       c.Timestamps == TimestampsLabel,
		LinkLabels:            pprof.LinkLabels{Trace: c.LinkLabels.Trace, Span: c.LinkLabels.Span},
		ResourceComments:      c.ResourceComments,
		PreferOriginalPayload: c.PreferOriginalPayload,
	}
}
