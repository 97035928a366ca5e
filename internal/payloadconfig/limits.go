// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package payloadconfig is the configuration that all components have in common which translate pprof: the limits of a
// payload, and the labels that become links.
package payloadconfig // import "github.com/otelpprof/otelpprof/internal/payloadconfig"

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// ReplacedLimits returns the limits on the entries of a pprof that earlier versions had, and what bounds them now.
func ReplacedLimits() map[string]string {
	replaced := map[string]string{"lines_per_location": fmt.Sprintf("remove it: a location may have %d lines", pprofwire.MaxLinesPerLocation)}
	for _, entries := range []string{"labels", "mappings", "locations", "lines", "functions", "strings", "comments"} {
		replaced[entries] = "remove it: inflated_bytes and the memory budget limit the " + entries
	}
	return replaced
}

// maxBytes is the largest limit in bytes. Readers that count one byte more, to see that a limit is exceeded, cannot overflow.
const maxBytes = min(1<<40, math.MaxInt/2)

// CheckLimits returns an error for each limit of a section, a struct, that is not above 0: it would refuse everything. Limits
// with the unit bytes must not be above maxBytes. Each error begins with prefix.
func CheckLimits(section any, prefix string) error {
	var errs []error
	for field, limit := range reflect.ValueOf(section).Fields() {
		if !field.IsExported() {
			continue
		}
		name := prefix + field.Tag.Get(confmap.MapstructureTag)
		if field.Tag.Get("unit") == "bytes" {
			errs = append(errs, CheckBytes(name, limit.Int()))
		} else {
			errs = append(errs, configcheck.Positive(name, limit.Int()))
		}
	}
	return errors.Join(errs...)
}

// CheckBytes returns an error if an option, a limit in bytes, is not above 0, or above maxBytes.
func CheckBytes(name string, limit int64) error {
	if limit > maxBytes {
		return fmt.Errorf("%s must not be above %d, is %d", name, int64(maxBytes), limit)
	}
	return configcheck.Positive(name, limit)
}

// LinkLabelsConfig names a pair of labels. Span may be empty: the trace alone makes the link.
type LinkLabelsConfig struct {
	Trace string `mapstructure:"trace"`
	Span  string `mapstructure:"span"`
	// Decimal says that ids are decimal numbers, unless a trace id has 32 digits: then it is hexadecimal.
	Decimal bool `mapstructure:"decimal"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// NewLinkLabelsConfig returns the option link_labels with these pairs.
func NewLinkLabelsConfig(pairs []spanlink.Labels) []LinkLabelsConfig {
	option := make([]LinkLabelsConfig, 0, len(pairs))
	for _, pair := range pairs {
		option = append(option, LinkLabelsConfig{Trace: pair.Trace, Span: pair.Span, Decimal: pair.Decimal})
	}
	return option
}

// CheckLinkLabels returns an error for each pair of the option link_labels without a label of the trace.
func CheckLinkLabels(option []LinkLabelsConfig) error {
	var errs []error
	for i, pair := range option {
		if pair.Trace == "" {
			errs = append(errs, fmt.Errorf("link_labels[%d].trace must be set", i))
		}
	}
	return errors.Join(errs...)
}

// LinkLabels returns the pairs of the option link_labels for a translator. The result is never nil: nil would be the
// default of the translator, and an empty list makes no links.
func LinkLabels(option []LinkLabelsConfig) []spanlink.Labels {
	pairs := make([]spanlink.Labels, 0, len(option))
	for _, pair := range option {
		pairs = append(pairs, spanlink.Labels{Trace: pair.Trace, Span: pair.Span, Decimal: pair.Decimal})
	}
	return pairs
}
