// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// Config is the configuration of one exporter: the server, the limits, the encoding, the queue and the retries.
type Config struct {
	// HTTP configures the HTTP server: endpoint, TLS, authentication, CORS, timeouts.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`
	// PathPrefix is the prefix of every path (default: none).
	PathPrefix string `mapstructure:"path_prefix"`
	// AllowedHosts are the host names that requests may have in Host. If there are none, a server on a loopback address accepts
	// the names of that address and of its endpoint, and any other server accepts every name.
	AllowedHosts []string `mapstructure:"allowed_hosts"`
	// MaxMemory limits the profiles in memory and their symbols, in bytes (default: 67108864).
	MaxMemory int64 `mapstructure:"max_memory" unit:"bytes"`
	// MaxAge is how long a profile is kept after its arrival (default: 1h). 0 means without a limit.
	MaxAge time.Duration `mapstructure:"max_age"`
	// MaxProfilesPerSeries limits the number of profiles of one service and type (default: 1000).
	MaxProfilesPerSeries int `mapstructure:"max_profiles_per_series"`
	// Directory has a copy of the profiles as files, which is read after a restart (default: none).
	Directory string `mapstructure:"directory"`
	// MaxDisk limits these files, in bytes (default: 0, which means max_memory).
	MaxDisk int64 `mapstructure:"max_disk" unit:"bytes"`
	// MaxConcurrentRequests limits the number of requests that read profiles at the same time (default: 2).
	MaxConcurrentRequests int `mapstructure:"max_concurrent_requests"`
	// TraceURL is the URL of a trace in another system. {trace_id} and {span_id} in it become the IDs (default: none).
	TraceURL string `mapstructure:"trace_url"`
	// Tenant configures the separation of tenants.
	Tenant options.TenantConfig `mapstructure:"tenant"`

	QueueConfig options.Queue             `mapstructure:"sending_queue"`
	RetryConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// Encoding configures how profiles become pprofs.
	Encoding options.EncodingConfig `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Unmarshaler = (*Config)(nil)

func createDefaultConfig() component.Config {
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = "localhost:4041"
	http.ReadTimeout = 10 * time.Second
	http.ReadHeaderTimeout = 10 * time.Second
	http.WriteTimeout = time.Minute
	return &Config{
		HTTP:                  http,
		MaxMemory:             64 << 20,
		MaxAge:                time.Hour,
		MaxProfilesPerSeries:  1000,
		MaxConcurrentRequests: 2,
		Tenant:                options.NewDefaultTenantConfig(),
		QueueConfig:           options.NewDefaultQueue(),
		RetryConfig:           configretry.NewDefaultBackOffConfig(),
		Encoding:              options.NewDefaultEncodingConfig(),
	}
}

// Replaced has the options of earlier versions, and what to do instead.
func (*Config) Replaced() map[string]string {
	return map[string]string{
		"storage":          "the option directory replaces it: the exporter writes gzipped pprofs itself, and needs no storage extension",
		"concurrency_wait": fmt.Sprintf("remove it: a request above max_concurrent_requests waits for %s", concurrencyWait),
		"max_request_size": "remove it: max_memory and the memory budget limit a request",
		"max_page_memory":  "remove it: the memory budget limits a request, and a drawing has a number of nodes",
		"max_depth":        "remove it: stacks of any depth are shown",
	}
}

// Unmarshal reads the configuration. It refuses unknown keys.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate returns the errors of all options.
func (c *Config) Validate() error {
	errs := []error{configcheck.ListenAddress(c.HTTP.NetAddr)}
	if p := c.PathPrefix; p != "" && (!strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || strings.ContainsAny(p, "{} ")) {
		errs = append(errs, fmt.Errorf("path_prefix must be empty or a clean path such as /profiling, is %q", p))
	}
	errs = append(errs,
		configcheck.Positive("max_memory", c.MaxMemory),
		configcheck.Positive("max_profiles_per_series", c.MaxProfilesPerSeries),
		configcheck.Positive("max_concurrent_requests", c.MaxConcurrentRequests),
		configcheck.NotNegative("max_age", c.MaxAge),
		configcheck.NotNegative("max_disk", c.MaxDisk),
		checkTraceURL(c.TraceURL),
	)
	for i, name := range c.AllowedHosts {
		if name == "" || strings.Contains(name, "/") {
			errs = append(errs, fmt.Errorf("allowed_hosts[%d] must be the name of a host, without a scheme and a path, is %q", i, name))
		}
	}
	if c.MaxDisk > 0 && c.Directory == "" {
		errs = append(errs, errors.New("max_disk needs directory"))
	}
	if c.Tenant.Header == "" && c.Tenant.MetadataKey != "" {
		errs = append(errs, errors.New("tenant::header must not be empty"))
	}
	return errors.Join(append(errs, options.ValidateQueue(c.QueueConfig), configcheck.Durations(c))...)
}

// checkTraceURL returns an error if the template is not a URL that contains the trace ID after its host. The IDs in a URL come
// from users and must not change the host.
func checkTraceURL(template string) error {
	if template == "" {
		return nil
	}
	target, err := url.Parse(template)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || strings.Contains(target.Host, "{") ||
		!strings.Contains(template, "{trace_id}") {
		return fmt.Errorf("trace_url must be an http or https URL with {trace_id} in its path, query or fragment, is %q", template)
	}
	return nil
}
