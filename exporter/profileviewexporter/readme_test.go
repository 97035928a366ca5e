// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
)

// Every YAML block is a valid configuration.
func TestReadmeSnippets(t *testing.T) {
	blocks := deliverytest.CheckSnippets(t, func(conf *confmap.Conf, exporter string) error {
		if exporter == "exporters::pprof" {
			return nil
		}
		_, err := configOf(t, conf, exporter)
		return err
	})
	assert.Equal(t, 3, blocks)
}

// The README has every option with its default.
func TestReadmeNamesEveryOption(t *testing.T) {
	cfg := *createDefaultConfig().(*Config)
	deliverytest.CheckOptions(t, cfg, "")
	deliverytest.CheckOptions(t, cfg.Encoding, "")
	deliverytest.CheckOptions(t, cfg.Encoding.LinkLabels, "link_labels::")
	deliverytest.CheckOptions(t, cfg.Tenant, "tenant::")
}

// The reasons of the metrics are in the table of errors.
func TestReadmeTells(t *testing.T) {
	for _, reason := range []string{delivery.ReasonInvalid, delivery.ReasonTooLarge} {
		assert.Contains(t, deliverytest.Readme(t), fmt.Sprintf("| `profiles_refused`, `%s` |", reason))
	}
}
