// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/model/relabel"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v2"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

const (
	// defaultMaxTargets is more than one replica can scrape with the default interval.
	defaultMaxTargets = 10000
	// defaultMaxResponseSize is enough for the default number of targets with many labels.
	defaultMaxResponseSize = 8 << 20
)

// Config is the configuration of the extension. The entries of its lists are as in the configuration of Prometheus.
type Config struct {
	// HTTPSDConfigs fetch targets from HTTP servers.
	HTTPSDConfigs []map[string]any `mapstructure:"http_sd_configs"`
	// FileSDConfigs read targets from files.
	FileSDConfigs []map[string]any `mapstructure:"file_sd_configs"`
	// DNSSDConfigs look targets up in DNS.
	DNSSDConfigs []map[string]any `mapstructure:"dns_sd_configs"`
	// KubernetesSDConfigs watch the API of Kubernetes.
	KubernetesSDConfigs []map[string]any `mapstructure:"kubernetes_sd_configs"`
	// RelabelConfigs choose targets and change their labels, one after the other.
	RelabelConfigs []map[string]any `mapstructure:"relabel_configs"`
	// MaxTargets limits the number of targets.
	MaxTargets int `mapstructure:"max_targets"`
	// MaxResponseSize limits the body of an answer of a server of http_sd_configs. The memory of its targets may be eight times as much.
	MaxResponseSize int64 `mapstructure:"max_response_size" unit:"bytes"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	return &Config{MaxTargets: defaultMaxTargets, MaxResponseSize: defaultMaxResponseSize}
}

// Unmarshal reads the configuration. An unknown key is an error, and so is a secret that is no text. It makes the secrets opaque.
func (cfg *Config) Unmarshal(conf *confmap.Conf) error {
	if err := configcheck.Unmarshal(conf, cfg); err != nil {
		return err
	}
	var errs []error
	for option, entries := range map[string][]map[string]any{
		"http_sd_configs": cfg.HTTPSDConfigs, "file_sd_configs": cfg.FileSDConfigs,
		"dns_sd_configs": cfg.DNSSDConfigs, "kubernetes_sd_configs": cfg.KubernetesSDConfigs,
	} {
		for i, entry := range entries {
			errs = append(errs, checkSecrets(entry, false, fmt.Sprintf("%s[%d]", option, i)))
			entries[i], _ = hidden(entry).(map[string]any)
		}
	}
	for i, rule := range cfg.RelabelConfigs {
		errs = append(errs, checkTexts(rule, fmt.Sprintf("relabel_configs[%d]", i)))
	}
	return errors.Join(errs...)
}

// checkTexts returns an error for a text of a rule that YAML reads as a fraction or a time: 1.10 would become 1.1.
func checkTexts(rule map[string]any, path string) error {
	for _, key := range slices.Sorted(maps.Keys(rule)) {
		switch rule[key].(type) {
		case float64, time.Time:
			return fmt.Errorf("%s%s%s is a fraction, a long number or a time for YAML: write it in quotes, also inside the variable that it comes from", path, confmap.KeyDelimiter, key)
		}
	}
	return nil
}

// Validate checks the options, and the entries as Prometheus does.
func (cfg *Config) Validate() error {
	entries, err := cfg.mechanisms()
	errs := []error{err}
	if len(entries) == 0 && err == nil {
		errs = append(errs, errors.New("nothing to discover: one of http_sd_configs, file_sd_configs, dns_sd_configs and kubernetes_sd_configs must be set"))
	}
	_, err = cfg.rules()
	errs = append(errs,
		err,
		configcheck.Positive("max_targets", cfg.MaxTargets),
		configcheck.Positive("max_response_size", cfg.MaxResponseSize),
	)
	return errors.Join(errs...)
}

// mechanism is one entry of the discovery, under the name that logs and errors have for it.
type mechanism struct {
	name   string
	config promdiscovery.Config
}

func (cfg *Config) mechanisms() ([]mechanism, error) {
	var all []mechanism
	var errs []error
	read := func(option string, entries []map[string]any, empty func() promdiscovery.Config) {
		for i, entry := range entries {
			one := mechanism{name: fmt.Sprintf("%s[%d]", option, i), config: empty()}
			if err := decode(entry, one.config); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			}
			all = append(all, one)
		}
	}
	read("http_sd_configs", cfg.HTTPSDConfigs, func() promdiscovery.Config { return &http.SDConfig{} })
	read("file_sd_configs", cfg.FileSDConfigs, func() promdiscovery.Config { return &file.SDConfig{} })
	read("dns_sd_configs", cfg.DNSSDConfigs, func() promdiscovery.Config { return &dns.SDConfig{} })
	read("kubernetes_sd_configs", cfg.KubernetesSDConfigs, func() promdiscovery.Config { return &kubernetes.SDConfig{} })
	return all, errors.Join(errs...)
}

func (cfg *Config) rules() ([]*relabel.Config, error) {
	rules := make([]*relabel.Config, len(cfg.RelabelConfigs))
	var errs []error
	for i, entry := range cfg.RelabelConfigs {
		rules[i] = &relabel.Config{}
		err := decode(entry, rules[i])
		if err == nil {
			err = rules[i].Validate(model.UTF8Validation)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("relabel_configs[%d]: %w", i, err))
		}
	}
	return rules, errors.Join(errs...)
}

// decode reads an entry as Prometheus reads its own configuration.
func decode(entry map[string]any, into any) error {
	text, err := yaml.Marshal(revealed(entry))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, into)
}

// secretKeys are the keys of an entry under which all texts are secrets.
var secretKeys = map[string]bool{
	"password": true, "credentials": true, "bearer_token": true, "client_secret": true, "client_certificate_key": true, "key": true,
	"secrets": true, "proxy_connect_header": true,
}

// hiddenKeys are keys whose texts Prometheus shows. What is sent to a server is often a secret.
var hiddenKeys = map[string]bool{"values": true, "endpoint_params": true}

// checkSecrets returns an error for a secret that YAML does not read as text. Its text is lost: 0012 was read as 10.
func checkSecrets(part any, isSecret bool, path string) error {
	var errs []error
	switch part := part.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(part)) {
			errs = append(errs, checkSecrets(part[key], isSecret || secretKeys[key], path+confmap.KeyDelimiter+key))
		}
	case []any:
		for i, value := range part {
			errs = append(errs, checkSecrets(value, isSecret, fmt.Sprintf("%s[%d]", path, i)))
		}
	case nil, string:
	default:
		if isSecret {
			return fmt.Errorf("%s is a number or a word that YAML does not read as text: "+
				"write it in quotes, or if it comes from the environment, use the option for a file", path)
		}
	}
	return errors.Join(errs...)
}

// hidden returns an entry with its secrets as opaque strings, which print-config does not show.
func hidden(entry any) any {
	return changed(entry, false, func(value any, isSecret bool) any {
		if isSecret && value != nil {
			return configopaque.String(fmt.Sprint(value))
		}
		return value
	})
}

// revealed returns an entry with its secrets as plain strings.
func revealed(entry any) any {
	return changed(entry, false, func(value any, _ bool) any {
		if secret, isOpaque := value.(configopaque.String); isOpaque {
			return string(secret)
		}
		return value
	})
}

// changed returns a part of an entry with the values that change returns.
func changed(part any, isSecret bool, change func(value any, isSecret bool) any) any {
	switch part := part.(type) {
	case map[string]any:
		made := make(map[string]any, len(part))
		for key, value := range part {
			made[key] = changed(value, isSecret || secretKeys[key] || hiddenKeys[key], change)
		}
		return made
	case []any:
		made := make([]any, len(part))
		for i, value := range part {
			made[i] = changed(value, isSecret, change)
		}
		return made
	}
	return change(part, isSecret)
}
