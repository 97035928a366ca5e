// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// Config is the configuration of the extension.
type Config struct {
	// Permissions are what the service account needs.
	Permissions []Permission `mapstructure:"permissions"`
	// Interval is the time between two checks.
	Interval time.Duration `mapstructure:"interval"`
	// Timeout limits how long a check may take.
	Timeout time.Duration `mapstructure:"timeout"`
	// Endpoint is the URL of the API server. If it is empty, it is that of the cluster in which this pod runs.
	Endpoint string `mapstructure:"endpoint"`
	// TokenFile has the token of the service account. It is read before each check.
	TokenFile string `mapstructure:"token_file"`
	// CAFile has the certificates that the API server's certificate must come from.
	CAFile string `mapstructure:"ca_file"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Permission is a rule of a Role or ClusterRole.
type Permission struct {
	// APIGroup is the group of the resource. It is empty for the core group.
	APIGroup string `mapstructure:"api_group"`
	// Resource is the resource in the plural, such as pods.
	Resource string `mapstructure:"resource"`
	// Namespace is where the permission is needed. If it is empty, it is needed in all namespaces.
	Namespace string `mapstructure:"namespace"`
	// Verbs are what must be allowed.
	Verbs []string `mapstructure:"verbs"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const (
	defaultInterval = time.Minute
	defaultTimeout  = 10 * time.Second
	accountFiles    = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// maxReviews limits the requests of a check.
	maxReviews = 100
)

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Unmarshal reads the configuration. An unknown key is an error.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, cfg) }

func createDefaultConfig() component.Config {
	return &Config{
		Permissions: []Permission{{Resource: "pods", Verbs: []string{"list", "watch"}}},
		Interval:    defaultInterval,
		Timeout:     defaultTimeout,
		TokenFile:   accountFiles + "token",
		CAFile:      accountFiles + "ca.crt",
	}
}

// Validate checks each option.
func (cfg *Config) Validate() error {
	errs := []error{configcheck.Durations(cfg)}
	check := func(valid bool, format string, args ...any) {
		if !valid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(cfg.Interval > 0, "interval is %s, it must be more than 0", cfg.Interval)
	check(cfg.Timeout > 0, "timeout is %s, it must be more than 0", cfg.Timeout)
	check(cfg.TokenFile != "", "token_file is empty")
	check(cfg.CAFile != "", "ca_file is empty")
	if cfg.Endpoint != "" {
		endpoint, err := url.Parse(cfg.Endpoint)
		check(err == nil && endpoint.Scheme == "https" && endpoint.Host != "", "endpoint is %q, it must be an https URL", cfg.Endpoint)
	}
	reviews := 0
	check(len(cfg.Permissions) > 0, "permissions is empty")
	for i, permission := range cfg.Permissions {
		check(permission.Resource != "", "permissions[%d]::resource is empty", i)
		check(len(permission.Verbs) > 0, "permissions[%d]::verbs is empty", i)
		reviews += len(permission.Verbs)
	}
	check(reviews <= maxReviews, "permissions has %d verbs in all, it must be %d at most", reviews, maxReviews)
	return errors.Join(errs...)
}
