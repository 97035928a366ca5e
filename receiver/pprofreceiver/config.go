// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Config is the configuration of the receiver. The options outside of the sections server, remote, scrape, file and self
// apply to all of them.
type Config struct {
	// Server accepts profiles over HTTP. It is on by default, unless another section is configured.
	Server configoptional.Optional[ServerConfig] `mapstructure:"server"`

	// Remote fetches one profile from one URL.
	Remote configoptional.Optional[RemoteConfig] `mapstructure:"remote"`

	// Scrape fetches several profiles from several targets.
	Scrape configoptional.Optional[ScrapeConfig] `mapstructure:"scrape"`

	// File reads files.
	File configoptional.Optional[FileConfig] `mapstructure:"file"`

	// Self profiles the Collector itself.
	Self configoptional.Optional[SelfConfig] `mapstructure:"self"`

	// Endpoint is the one target of Scrape, where that names none. It is what the receiver_creator sets.
	Endpoint string `mapstructure:"endpoint"`

	// ResourceAttributes are set on the resource of every profile, unless the request or target sets the same key.
	ResourceAttributes map[string]any `mapstructure:"resource_attributes"`

	// MetadataFromResource are resource attributes that become client metadata.
	MetadataFromResource []string `mapstructure:"metadata_from_resource"`

	// Limits limits the content of one request.
	Limits LimitsConfig `mapstructure:"limits"`

	// LinkLabels are the pairs of labels that link a sample to a span. The first pair found makes the link.
	LinkLabels []pprof.LinkLabels `mapstructure:"link_labels"`

	// TimestampLabels are labels with the time of an event, which become timestamps of samples.
	TimestampLabels []TimestampLabelConfig `mapstructure:"timestamp_labels"`

	// ThreadAttributes translates the labels "thread id" and "thread name" of Datadog's profilers to the attributes
	// thread.id and thread.name.
	ThreadAttributes bool `mapstructure:"thread_attributes"`

	// ZeroValues determines whether zero values of payloads with several sample types are kept.
	ZeroValues string `mapstructure:"zero_values" words:"drop keep"`

	// KeepUnreferencedMappings keeps mappings that no sample refers to.
	KeepUnreferencedMappings bool `mapstructure:"keep_unreferenced_mappings"`

	// KeepGeneratedNames keeps the addresses and counters in the names of classes that a JVM generates, in texts and recordings.
	KeepGeneratedNames bool `mapstructure:"keep_generated_names"`

	// IncludeOriginalPayload copies each payload, as it was received, into its profiles.
	IncludeOriginalPayload bool `mapstructure:"include_original_payload"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitsConfig limits one request. A payload above any of these limits is refused as too large.
type LimitsConfig struct {
	// Payloads is the number of profiles in one request.
	Payloads int `mapstructure:"payloads"`
	// InflatedBytes is the size after all compression, of a request with all its profiles.
	InflatedBytes int `mapstructure:"inflated_bytes" unit:"bytes"`
	// Samples is the number of OTLP samples in a request: each counts once for each sample type that has a value.
	Samples int `mapstructure:"samples"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// The words of zero_values: whether zero values are kept.
const (
	// ZeroValuesDrop drops a zero if the sample has another value. Encoding as pprof restores it.
	ZeroValuesDrop = "drop"
	// ZeroValuesKeep keeps every zero, so that all profiles of a payload have the same number of samples.
	ZeroValuesKeep = "keep"
)

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	limits := pprof.DefaultLimits()
	return &Config{
		Server:           configoptional.Some(defaultServerConfig()),
		Remote:           configoptional.Default(defaultRemoteConfig()),
		Scrape:           configoptional.Default(defaultScrapeConfig()),
		File:             configoptional.Default(defaultFileConfig()),
		Self:             configoptional.Default(defaultSelfConfig()),
		Limits:           LimitsConfig{Payloads: 256, InflatedBytes: limits.InflatedBytes, Samples: limits.Samples},
		LinkLabels:       pprof.DefaultLinkLabels(),
		ThreadAttributes: true,
		ZeroValues:       ZeroValuesDrop,
	}
}

// Unmarshal reads the configuration. The server is on by default only if no other section is configured.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error {
	if err := configcheck.Unmarshal(conf, cfg); err != nil {
		return err
	}
	// A host and port without a scheme is more likely an address to listen on.
	alone := !conf.IsSet("server") && !cfg.fetches() && strings.Contains(cfg.Endpoint, "://")
	if cfg.Endpoint != "" && (alone || cfg.Scrape.HasValue()) {
		if section := cfg.Scrape.GetOrInsertDefault(); len(section.Targets) == 0 {
			section.Targets = []TargetConfig{{Endpoint: cfg.Endpoint}}
		}
	}
	if !conf.IsSet("server") && cfg.fetches() {
		cfg.Server = configoptional.None[ServerConfig]()
	}
	return nil
}

// fetches reports whether a section that fetches is configured.
func (cfg *Config) fetches() bool {
	return cfg.Remote.HasValue() || cfg.Scrape.HasValue() || cfg.File.HasValue() || cfg.Self.HasValue()
}

// Validate checks the options outside of the sections. Sections have their own Validate.
func (cfg *Config) Validate() error {
	var errs []error
	if !cfg.Server.HasValue() && !cfg.fetches() {
		errs = append(errs, errors.New("nothing to do: at least one of server, remote, scrape, file and self must be configured"))
	}
	if cfg.Endpoint != "" && cfg.Server.HasValue() && !cfg.Scrape.HasValue() {
		errs = append(errs, fmt.Errorf("endpoint %q is the target of scrape, which is not configured: write server::endpoint to listen there, or add the section scrape to fetch from there",
			cfg.Endpoint))
	}
	errs = append(errs, configcheck.Durations(cfg))
	if _, err := cfg.resourceDefaults(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, configcheck.MetadataKeys("metadata_from_resource", cfg.MetadataFromResource), configcheck.LinkLabels(cfg.LinkLabels),
		checkTimestampLabels(cfg.TimestampLabels))
	return errors.Join(errs...)
}

// Replaced has the limits of earlier versions, and what bounds the same now.
func (*LimitsConfig) Replaced() map[string]string {
	replaced := configcheck.ReplacedLimits()
	limits := pprof.DefaultLimits()
	replaced["locations_per_sample"] = fmt.Sprintf("remove it: a stack may have %d locations", limits.LocationsPerSample)
	replaced["labels_per_sample"] = fmt.Sprintf("remove it: a sample may have %d labels", limits.LabelsPerSample)
	replaced["sample_types"] = fmt.Sprintf("remove it: a profile may have %d sample types", pprof.MaxSampleTypes)
	replaced["string_bytes"] = fmt.Sprintf("remove it: a string may have %d bytes", pprof.MaxStringBytes)
	return replaced
}

// Validate checks the limits.
func (l *LimitsConfig) Validate() error {
	return errors.Join(
		configcheck.Positive("payloads", l.Payloads), configcheck.Bytes("inflated_bytes", l.InflatedBytes), configcheck.Positive("samples", l.Samples))
}

// resourceDefaults returns resource_attributes as attributes, sorted by key.
func (cfg *Config) resourceDefaults() (pcommon.Map, error) {
	attributes := pcommon.NewMap()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(cfg.ResourceAttributes)) {
		value := cfg.ResourceAttributes[key]
		if _, nested := value.(map[string]any); nested || value == nil {
			errs = append(errs, fmt.Errorf("resource_attributes: %q must be a string, number, boolean or list", key))
			continue
		}
		if err := attributes.PutEmpty(key).FromRaw(value); err != nil {
			errs = append(errs, fmt.Errorf("resource_attributes: cannot use %q: %w", key, err))
		}
	}
	return attributes, errors.Join(errs...)
}

// decodeOptions returns the options of the translator.
func (cfg *Config) decodeOptions() pprof.DecodeOptions {
	return pprof.DecodeOptions{
		Limits:                   pprof.Limits{InflatedBytes: cfg.Limits.InflatedBytes, Samples: cfg.Limits.Samples},
		LinkLabels:               append([]pprof.LinkLabels{}, cfg.LinkLabels...), // nil would be the default
		TimestampLabels:          timestampLabels(cfg.TimestampLabels),
		KeepThreadLabels:         !cfg.ThreadAttributes,
		KeepZeroValues:           cfg.ZeroValues == ZeroValuesKeep,
		KeepUnreferencedMappings: cfg.KeepUnreferencedMappings,
		IncludeOriginalPayload:   cfg.IncludeOriginalPayload,
	}
}

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
