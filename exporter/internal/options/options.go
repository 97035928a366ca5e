// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the options that the exporters pprof and profile_view share: encoding, sending queue, and tenant.
package options // import "github.com/otelpprof/otelpprof/exporter/internal/options"

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// EncodingConfig configures how profiles are encoded as pprofs.
type EncodingConfig struct {
	// MaxPprofBytes limits the uncompressed size of all pprofs of one request together (default: 67108864).
	MaxPprofBytes int `mapstructure:"max_pprof_bytes" unit:"bytes"`
	// Timestamps says how timestamps of samples are written, since pprof has no field for them (default: total).
	Timestamps string `mapstructure:"timestamps" words:"total label"`
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

// The words of timestamps.
const (
	// TimestampsTotal writes one sample with the sum of the values, without timestamps.
	TimestampsTotal = "total"
	// TimestampsLabel writes one sample per timestamp, with the label "timestamp" in nanoseconds.
	TimestampsLabel = "label"
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

// Validate returns all errors in the configuration.
func (c *EncodingConfig) Validate() error {
	err := configcheck.Positive("max_pprof_bytes", c.MaxPprofBytes)
	if c.LinkLabels.Trace == "" {
		err = errors.Join(errors.New("link_labels::trace must not be empty"), err)
	}
	return err
}

// EncodeOptions returns these options for an encoder.
func (c *EncodingConfig) EncodeOptions() pprof.EncodeOptions {
	return pprof.EncodeOptions{
		PprofBytes:            c.MaxPprofBytes,
		TimestampLabels:       c.Timestamps == TimestampsLabel,
		LinkLabels:            pprof.LinkLabels{Trace: c.LinkLabels.Trace, Span: c.LinkLabels.Span},
		ResourceComments:      c.ResourceComments,
		PreferOriginalPayload: c.PreferOriginalPayload,
	}
}

// Queue is the section sending_queue.
type Queue = configoptional.Optional[exporterhelper.QueueBatchConfig]

// LeastQueueBytes is the smallest queue size in bytes. A smaller number was probably meant as a number of requests.
const LeastQueueBytes = 1 << 20

// NewDefaultQueue returns a queue that is limited in bytes. A limit in requests would not limit its memory, since clients
// choose the size of a request. It has no batch, even with the feature gate of exporterhelper that makes it the default.
func NewDefaultQueue() Queue {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeBytes
	queue.QueueSize = 64 << 20
	queue.NumConsumers = 4
	queue.Batch = configoptional.Default(exporterhelper.NewDefaultBatchConfig())
	return configoptional.Some(queue)
}

// ValidateQueue returns an error for a size in bytes below LeastQueueBytes, and for a batch: that would join and split requests after
// their memory was counted.
func ValidateQueue(configured Queue) error {
	queue := configured.Get()
	if queue == nil {
		return nil
	}
	var err error
	if queue.Batch.HasValue() {
		err = errors.New("sending_queue::batch is not supported: use batch of the processor profile_deduplicator")
	}
	if queue.Sizer == exporterhelper.RequestSizerTypeBytes && queue.QueueSize < LeastQueueBytes {
		err = errors.Join(err, fmt.Errorf("sending_queue::queue_size is in bytes and must be at least %d, is %d: set sending_queue::sizer to requests or items for another unit",
			LeastQueueBytes, queue.QueueSize))
	}
	return err
}

// TenantConfig configures the tenant of profiles.
type TenantConfig struct {
	// Header is the HTTP header with the tenant (default: X-Scope-OrgID).
	Header string `mapstructure:"header"`
	// MetadataKey is the key of the client metadata with the tenant (default: none).
	MetadataKey string `mapstructure:"metadata_key"`
	// Default is the tenant of requests without that metadata (default: none, no header is sent).
	Default string `mapstructure:"default"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// NewDefaultTenantConfig returns the defaults.
func NewDefaultTenantConfig() TenantConfig { return TenantConfig{Header: "X-Scope-OrgID"} }

// Of returns the tenant of the request of ctx.
func (c *TenantConfig) Of(ctx context.Context) string {
	if c.MetadataKey != "" {
		if values := client.FromContext(ctx).Metadata.Get(c.MetadataKey); len(values) > 0 && values[0] != "" {
			return values[0]
		}
	}
	return c.Default
}
