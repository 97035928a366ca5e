// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

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

// Config is the configuration of one exporter: its server, what it holds and shows, how profiles become pprofs, and how
// requests wait and are repeated.
type Config struct {
	// HTTP is what every HTTP server of the Collector has: endpoint, TLS, authentication, CORS, timeouts.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`
	// PathPrefix comes before every path (default: none).
	PathPrefix string `mapstructure:"path_prefix"`
	// AllowedHosts are the names that a request may use for the server. Without any, a server on the loopback address takes
	// the names of that and of its endpoint, all others take every name.
	AllowedHosts []string `mapstructure:"allowed_hosts"`
	// MaxMemory bounds the profiles held, compressed as they are, in bytes (default: 67108864).
	MaxMemory int64 `mapstructure:"max_memory" unit:"bytes"`
	// MaxAge is how long a profile is held after it came (default: 1h). 0 is for ever.
	MaxAge time.Duration `mapstructure:"max_age"`
	// MaxProfilesPerSeries is how many profiles of one service and type are held (default: 1000).
	MaxProfilesPerSeries int `mapstructure:"max_profiles_per_series"`
	// Storage is a storage extension that has what is held, so that it is there again after a restart (default: none).
	Storage *component.ID `mapstructure:"storage"`
	// MaxDisk bounds what is in the storage, in bytes (default: 0, which is max_memory).
	MaxDisk int64 `mapstructure:"max_disk" unit:"bytes"`
	// MaxRequestSize bounds the profiles that one request merges, without their compression, in bytes (default: 67108864).
	MaxRequestSize int64 `mapstructure:"max_request_size" unit:"bytes"`
	// MaxPageMemory bounds what drawing one page takes, in bytes (default: 67108864). The lightest stacks become one.
	MaxPageMemory int64 `mapstructure:"max_page_memory" unit:"bytes"`
	// MaxDepth is how many frames of a stack a page shows (default: 512). Those in the middle become one.
	MaxDepth int `mapstructure:"max_depth"`
	// MaxConcurrentRequests is how many requests merge profiles at a time (default: 2).
	MaxConcurrentRequests int `mapstructure:"max_concurrent_requests"`
	// ConcurrencyWait is how long a request above that number waits (default: 5s).
	ConcurrencyWait time.Duration `mapstructure:"concurrency_wait"`
	// TraceURL is the address of a trace in another system, with {trace_id} where its id belongs, and {span_id} for the span.
	TraceURL string `mapstructure:"trace_url"`
	// Tenant keeps tenants apart.
	Tenant options.TenantConfig `mapstructure:"tenant"`

	QueueConfig options.Queue             `mapstructure:"sending_queue"`
	RetryConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// Encoding says how profiles become pprofs.
	Encoding options.EncodingConfig `mapstructure:",squash"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

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
		MaxRequestSize:        64 << 20,
		MaxPageMemory:         64 << 20,
		MaxDepth:              512,
		MaxConcurrentRequests: 2,
		ConcurrencyWait:       5 * time.Second,
		Tenant:                options.NewDefaultTenantConfig(),
		QueueConfig:           options.NewDefaultQueue(),
		RetryConfig:           configretry.NewDefaultBackOffConfig(),
		Encoding:              options.NewDefaultEncodingConfig(),
	}
}

// Unmarshal reads the configuration and refuses keys that do not exist.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate tells all that is wrong.
func (c *Config) Validate() error {
	errs := []error{configcheck.ListenAddress(c.HTTP.NetAddr)}
	if p := c.PathPrefix; p != "" && (!strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || strings.ContainsAny(p, "{} ")) {
		errs = append(errs, fmt.Errorf("path_prefix must be empty or a clean path such as /profiling, is %q", p))
	}
	for name, value := range map[string]int64{
		"max_memory":              c.MaxMemory,
		"max_profiles_per_series": int64(c.MaxProfilesPerSeries),
		"max_request_size":        c.MaxRequestSize,
		"max_page_memory":         c.MaxPageMemory,
		"max_depth":               int64(c.MaxDepth),
		"max_concurrent_requests": int64(c.MaxConcurrentRequests),
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("%s must be above 0, it is %d", name, value))
		}
	}
	for name, value := range map[string]time.Duration{"max_age": c.MaxAge, "concurrency_wait": c.ConcurrencyWait} {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative, it is %v", name, value))
		}
	}
	if err := checkTraceURL(c.TraceURL); err != nil {
		errs = append(errs, err)
	}
	if c.MaxDisk < 0 {
		errs = append(errs, fmt.Errorf("max_disk must not be negative, it is %d", c.MaxDisk))
	}
	if c.MaxDisk > 0 && c.Storage == nil {
		errs = append(errs, errors.New("max_disk needs storage, the name of a storage extension"))
	}
	if c.Tenant.Header == "" && c.Tenant.MetadataKey != "" {
		errs = append(errs, errors.New("tenant::header must not be empty"))
	}
	return errors.Join(append(errs, options.ValidateQueue(c.QueueConfig), configcheck.Durations(c))...)
}

// checkTraceURL checks the template of links to traces. They lead to where the configuration says, whatever the ids are.
func checkTraceURL(template string) error {
	if template == "" {
		return nil
	}
	target, err := url.Parse(template)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || strings.Contains(target.Host, "{") ||
		!strings.Contains(template, traceField) {
		return fmt.Errorf("trace_url must be an http or https URL with %s in its path, query or fragment, is %q", traceField, template)
	}
	return nil
}
