// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

const (
	// maxJitter is the longest time by which a fetch begins later, so that targets are not all fetched at once.
	maxJitter = 5 * time.Second
	// maxConcurrentProfiles is how many profiles are processed at a time. It is enough to use a few processors.
	maxConcurrentProfiles = 8
)

// ScrapeConfig configures fetching several profiles from several targets.
type ScrapeConfig struct {
	Schedule ScheduleConfig `mapstructure:",squash"`

	// HTTP has the options of every HTTP client of the Collector, for all targets. Its endpoint is not used.
	HTTP confighttp.ClientConfig `mapstructure:",squash"`

	// Targets are the programs to profile.
	Targets []TargetConfig `mapstructure:"targets"`

	// Discovery names extensions that discover further targets.
	Discovery []component.ID `mapstructure:"discovery"`

	// Profiles are the profiles to fetch from each target.
	Profiles []ScrapedProfile `mapstructure:"profiles"`

	// Seconds is for how long targets are asked to profile, for profiles that need it.
	Seconds int `mapstructure:"seconds"`

	// Delta says how differences are made of profiles that count from the start of the target.
	Delta string `mapstructure:"delta" words:"computed target off"`

	// PathPrefix is the path of the profiles at a target.
	PathPrefix string `mapstructure:"path_prefix"`

	// MaxResponseSize is the largest answer in bytes.
	MaxResponseSize int64 `mapstructure:"max_response_size" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// TargetConfig is a program to profile.
type TargetConfig struct {
	// Endpoint is a URL, or a host and port.
	Endpoint string `mapstructure:"endpoint"`

	// Labels become attributes of the resource.
	Labels map[string]string `mapstructure:"labels"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// ScrapedProfile is one profile of each target. In a configuration it may be a name alone.
type ScrapedProfile struct {
	// Name is the name that the profile gets.
	Name string `mapstructure:"name"`

	// Path is its path at a target. By default it is the name below path_prefix.
	Path string `mapstructure:"path"`

	// Seconds is for how long targets are asked to profile. 0 is the value of the section for cpu, and not at all for others.
	Seconds int `mapstructure:"seconds"`

	// Delta says how differences are made of a profile that counts from the start of the target. By default it is the value
	// of the section for allocs, mutex and block, and off for others.
	Delta string `mapstructure:"delta" words:"computed target off"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// knownProfiles are the profiles of net/http/pprof.
var knownProfiles = append(slices.Clone(selfProfiles), profileThreads)

var (
	_ confmap.Validator   = (*ScrapeConfig)(nil)
	_ confmap.Unmarshaler = (*ScrapeConfig)(nil)
)

func defaultScrapeConfig() ScrapeConfig {
	cfg := ScrapeConfig{
		Schedule:        defaultSchedule(),
		HTTP:            confighttp.NewDefaultClientConfig(),
		Seconds:         10,
		Delta:           DeltaComputed,
		PathPrefix:      "/debug/pprof",
		MaxResponseSize: defaultMaxResponseSize,
	}
	cfg.Schedule.CollectionInterval = 15 * time.Second
	for _, name := range selfProfiles {
		cfg.Profiles = append(cfg.Profiles, ScrapedProfile{Name: name})
	}
	return cfg
}

// Replaced has the options of earlier versions, and what to do instead.
func (*ScrapeConfig) Replaced() map[string]string {
	return map[string]string{
		"jitter":                  insteadOfJitter,
		"max_concurrent_profiles": fmt.Sprintf("remove it: %d profiles are processed at a time", maxConcurrentProfiles),
	}
}

// UnmarshalText reads a name alone.
func (p *ScrapedProfile) UnmarshalText(text []byte) error {
	*p = ScrapedProfile{Name: string(text)}
	return nil
}

// Unmarshal reads the section.
func (cfg *ScrapeConfig) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("profiles") {
		// The list replaces the default.
		cfg.Profiles = nil
	}
	return conf.Unmarshal(cfg)
}

// Validate checks the options that confighttp does not check.
func (cfg *ScrapeConfig) Validate() error {
	errs := []error{configcheck.Bytes("max_response_size", cfg.MaxResponseSize)}
	if cfg.HTTP.Endpoint != "" {
		errs = append(errs, errors.New("endpoint belongs to a target: targets: [{endpoint: ...}]"))
	}
	if len(cfg.Targets) == 0 && len(cfg.Discovery) == 0 {
		errs = append(errs, errors.New("targets must not be empty, unless discovery names an extension"))
	}
	for i, id := range cfg.Discovery {
		if slices.Contains(cfg.Discovery[:i], id) {
			errs = append(errs, fmt.Errorf("discovery[%d] is %q for the second time", i, id))
		}
	}
	var targets []string
	for i := range cfg.Targets {
		target, err := cfg.Targets[i].url()
		if err == nil && strings.HasSuffix(strings.TrimSuffix(target.Path, "/"), cfg.PathPrefix) {
			err = fmt.Errorf("endpoint must not end with path_prefix, %s, which each profile adds, is %q", cfg.PathPrefix, cfg.Targets[i].Endpoint)
		}
		if err == nil && slices.Contains(targets, target.String()) {
			err = fmt.Errorf("endpoint is that of another target, %q", cfg.Targets[i].Endpoint)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("targets[%d].%w", i, err))
			continue
		}
		targets = append(targets, target.String())
	}
	if len(cfg.Profiles) == 0 {
		errs = append(errs, errors.New("profiles must not be empty"))
	}
	if !strings.HasPrefix(cfg.PathPrefix, "/") {
		errs = append(errs, fmt.Errorf("path_prefix must begin with a slash, is %q", cfg.PathPrefix))
	}
	names := map[string]bool{}
	for i, profile := range cfg.Profiles {
		if profile.Name == "" || names[profile.Name] {
			errs = append(errs, fmt.Errorf("profiles[%d].name must be set and unique, is %q", i, profile.Name))
		}
		names[profile.Name] = true
		if strings.Contains(profile.Path, "?") {
			errs = append(errs, fmt.Errorf("profiles[%d].path must not have a query, is %q", i, profile.Path))
		}
		if profile.Path == "" && profile.Name != "" && !slices.Contains(knownProfiles, profile.Name) {
			errs = append(errs, fmt.Errorf("profiles[%d] must have path, for example path: %s, or one of the names %s, is %q",
				i, path.Join(cfg.PathPrefix, profile.Name), strings.Join(knownProfiles, ", "), profile.Name))
		}
		errs = append(errs, cfg.validateSeconds(cfg.resolve(cfg.PathPrefix, profile)))
	}
	return errors.Join(errs...)
}

func (cfg *ScrapeConfig) validateSeconds(profile ScrapedProfile) error {
	length := time.Duration(profile.Seconds) * time.Second
	switch {
	case profile.Seconds < 0 || length >= cfg.Schedule.CollectionInterval:
		return fmt.Errorf("profile %q: seconds must be 0 or above, and below collection_interval, %s, is %d",
			profile.Name, cfg.Schedule.CollectionInterval, profile.Seconds)
	case cfg.HTTP.Timeout > 0 && length >= cfg.HTTP.Timeout:
		return fmt.Errorf("profile %q: timeout, %s, must be longer than seconds, %d", profile.Name, cfg.HTTP.Timeout, profile.Seconds)
	default:
		return nil
	}
}

// resolve returns a profile with the defaults of the section.
func (cfg *ScrapeConfig) resolve(pathPrefix string, profile ScrapedProfile) ScrapedProfile {
	if profile.Path == "" {
		last := profile.Name
		if last == profileCPU {
			last = "profile"
		}
		profile.Path = path.Join(pathPrefix, last)
	}
	if profile.Delta == "" {
		profile.Delta = DeltaOff
		if counts(profile.Name) {
			profile.Delta = cfg.Delta
		}
	}
	if profile.Name == profileCPU && profile.Delta == DeltaTarget {
		profile.Delta = DeltaOff // It is a difference already.
	}
	if profile.Seconds == 0 && (profile.Name == profileCPU || profile.Delta == DeltaTarget) {
		profile.Seconds = cfg.Seconds
	}
	return profile
}

// url returns the endpoint as a URL. Without a scheme it is http, and must have a port.
func (t *TargetConfig) url() (*url.URL, error) {
	text := t.Endpoint
	if text != "" && !strings.Contains(text, "://") {
		if err := configcheck.HostPort(text); err != nil {
			return nil, err
		}
		text = "http://" + text
	}
	if err := configcheck.URL("endpoint", text); err != nil {
		return nil, err
	}
	return url.Parse(text)
}
