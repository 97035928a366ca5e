// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Config is the configuration of one exporter: one destination, how profiles become pprofs, and how requests wait and
// are repeated.
type Config struct {
	// TimeoutConfig bounds the time for one request. What was not written by then is written by the next attempt.
	TimeoutConfig exporterhelper.TimeoutConfig                             `mapstructure:",squash"`
	QueueConfig   configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
	RetryConfig   configretry.BackOffConfig                                `mapstructure:"retry_on_failure"`

	// File keeps each pprof as a file of a directory.
	File configoptional.Optional[FileConfig] `mapstructure:"file"`
	// HTTP sends each pprof to another system.
	HTTP configoptional.Optional[HTTPConfig] `mapstructure:"http"`
	// Server holds the most recent pprofs for others to fetch and to look at.
	Server configoptional.Optional[ServerConfig] `mapstructure:"server"`

	// MaxPprofBytes bounds the pprofs that one request becomes, all together and before compression (default: 67108864).
	MaxPprofBytes int `mapstructure:"max_pprof_bytes" unit:"bytes"`
	// Timestamps says what becomes of the time of single events, which pprof has no field for (default: total).
	Timestamps Timestamps `mapstructure:"timestamps"`
	// LinkLabels names the labels that the link of a sample to a span becomes.
	LinkLabels LinkLabelsConfig `mapstructure:"link_labels"`
	// ResourceComments writes the attributes of the resource as comments "resource:key=value".
	ResourceComments bool `mapstructure:"resource_comments"`
	// PreferOriginalPayload writes the pprof that a profile was made of, where the profile carries it.
	PreferOriginalPayload bool `mapstructure:"prefer_original_payload"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LinkLabelsConfig names the labels that tie a sample to a span.
type LinkLabelsConfig struct {
	// Trace is the label of the trace ID (default: trace_id).
	Trace string `mapstructure:"trace"`
	// Span is the label of the span ID (default: span_id). Empty: not written.
	Span string `mapstructure:"span"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Timestamps says how samples with timestamps are written.
type Timestamps string

const (
	// TimestampsTotal writes one sample with the sum of the values.
	TimestampsTotal Timestamps = "total"
	// TimestampsLabel writes one sample for each timestamp, which becomes the label "timestamp" in nanoseconds.
	TimestampsLabel Timestamps = "label"
)

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Unmarshal reads the configuration and refuses keys that do not exist.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// UnmarshalText takes total and label.
func (t *Timestamps) UnmarshalText(text []byte) error {
	return configcheck.Word(t, text, "timestamps", TimestampsTotal, TimestampsLabel)
}

// Validate tells what is wrong with the options that are not a destination's own.
func (c *Config) Validate() error {
	var err error
	switch set := c.destinations(); len(set) {
	case 0:
		err = errors.New("no destination: set file, http or server")
	case 1:
	default:
		err = fmt.Errorf("an exporter has one destination, this one has %s: make an exporter of each, such as pprof/%s and pprof/%s",
			strings.Join(set, " and "), set[0], set[1])
	}
	if c.LinkLabels.Trace == "" {
		err = errors.Join(err, errors.New("link_labels::trace must not be empty"))
	}
	if c.MaxPprofBytes < 1 {
		err = errors.Join(err, fmt.Errorf("max_pprof_bytes must be above 0, it is %d", c.MaxPprofBytes))
	}
	return errors.Join(err, c.validateQueue(), configcheck.Durations(c))
}

// leastQueueBytes is more than a queue of requests has requests, and less than a queue of bytes must have.
const leastQueueBytes = 1 << 20

// validateQueue finds a size that was meant as a number of requests.
func (c *Config) validateQueue() error {
	if !c.QueueConfig.HasValue() {
		return nil
	}
	queue := c.QueueConfig.Get()
	if queue.Sizer == exporterhelper.RequestSizerTypeBytes && queue.QueueSize < leastQueueBytes {
		return fmt.Errorf("sending_queue::queue_size is in bytes and must be at least %d, it is %d: set sending_queue::sizer to requests or items for another unit",
			leastQueueBytes, queue.QueueSize)
	}
	return nil
}

// destinationNames are the sections that are destinations.
var destinationNames = []string{"file", "http", "server"}

// destinations returns the names of those that are configured.
func (c *Config) destinations() []string {
	var set []string
	for i, has := range []bool{c.File.HasValue(), c.HTTP.HasValue(), c.Server.HasValue()} {
		if has {
			set = append(set, destinationNames[i])
		}
	}
	return set
}

// encodeOptions are the options of the translator.
func (c *Config) encodeOptions() pprof.EncodeOptions {
	return pprof.EncodeOptions{
		PprofBytes:            c.MaxPprofBytes,
		TimestampLabels:       c.Timestamps == TimestampsLabel,
		LinkLabels:            pprof.LinkLabels{Trace: c.LinkLabels.Trace, Span: c.LinkLabels.Span},
		ResourceComments:      c.ResourceComments,
		PreferOriginalPayload: c.PreferOriginalPayload,
	}
}
