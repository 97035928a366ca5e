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
	// Permissions are the permissions to check, at most 100 verbs in all (default: list and watch pods in all namespaces).
	Permissions []Permission `mapstructure:"permissions"`
	// Interval is the time between the starts of two checks (default: 1m).
	Interval time.Duration `mapstructure:"interval"`
	// Endpoint is the https URL of the API server (default: that of the cluster in which this pod runs).
	Endpoint string `mapstructure:"endpoint"`
	// TokenFile is the file with the token of the service account. Each check reads it again.
	TokenFile string `mapstructure:"token_file"`
	// CAFile is the PEM file with the authorities for the certificate of the API server. Each check reads it again.
	CAFile string `mapstructure:"ca_file"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Permission is a rule of a Role or ClusterRole.
type Permission struct {
	// APIGroup is the API group of the resource. It is empty for the core group.
	APIGroup string `mapstructure:"api_group"`
	// Resource is the plural name of the resource, such as pods.
	Resource string `mapstructure:"resource"`
	// Namespace is where the permission is needed. If it is empty, it is needed in all namespaces.
	Namespace string `mapstructure:"namespace"`
	// Verbs are the verbs that the API server must allow, such as list.
	Verbs []string `mapstructure:"verbs"`

	// prevent unkeyed literal initialization
	_ struct{}
}

const (
	defaultInterval = time.Minute
	// checkTimeout limits the time of a check with all its requests.
	checkTimeout = 10 * time.Second
	accountFiles = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// maxReviews limits the number of requests of a check: one for each verb.
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
		TokenFile:   accountFiles + "token",
		CAFile:      accountFiles + "ca.crt",
	}
}

// Validate returns all errors in the configuration.
func (cfg *Config) Validate() error {
	errs := []error{
		configcheck.Durations(cfg), configcheck.Positive("interval", cfg.Interval),
	}
	check := func(valid bool, format string, args ...any) {
		if !valid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
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
