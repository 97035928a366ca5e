// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package payloadconfig

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
)

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
