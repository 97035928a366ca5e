// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package payloadconfig

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// section is a section limits.
type section struct {
	Payloads      int `mapstructure:"payloads"`
	InflatedBytes int `mapstructure:"inflated_bytes" unit:"bytes"`
	Samples       int `mapstructure:"samples"`

	_ struct{}
}

func TestCheckLimits(t *testing.T) {
	limits := section{Payloads: 1, InflatedBytes: 2, Samples: 3}
	assert.NoError(t, CheckLimits(limits, "limits: "))
	limits.InflatedBytes, limits.Samples = 0, -1
	assert.EqualError(t, CheckLimits(limits, "limits: "),
		"limits: inflated_bytes must be above 0, is 0\nlimits: samples must be above 0, is -1")
	limits.InflatedBytes, limits.Samples = maxBytes, math.MaxInt
	assert.NoError(t, CheckLimits(limits, ""))
	limits.InflatedBytes++
	assert.EqualError(t, CheckLimits(limits, ""), fmt.Sprintf("inflated_bytes must not be above %d, is %d", maxBytes, maxBytes+1))
}

func TestLinkLabels(t *testing.T) {
	option := NewLinkLabelsConfig(pprof.DefaultLinkLabels())
	assert.NoError(t, CheckLinkLabels(option))
	assert.Equal(t, pprof.DefaultLinkLabels(), LinkLabels(option))
	assert.NotNil(t, LinkLabels(nil), "nil would be the default of the translator")
	assert.EqualError(t, CheckLinkLabels(append(option, LinkLabelsConfig{Span: "span"})), "link_labels[3].trace must be set")
}
