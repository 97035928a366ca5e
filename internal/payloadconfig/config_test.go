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
	Payloads    int `mapstructure:"payloads"`
	StringBytes int `mapstructure:"string_bytes" unit:"bytes"`

	EntryLimitsConfig `mapstructure:",squash"`

	_ struct{}
}

func TestCopyLimits(t *testing.T) {
	want := pprof.Limits{StringBytes: 1, Labels: 2, Mappings: 3, Locations: 4, Lines: 5, LinesPerLocation: 6, Functions: 7, Strings: 8, Comments: 9}
	limits := section{Payloads: 10}
	CopyLimits(&limits, want)
	assert.Equal(t, section{
		Payloads: 10, StringBytes: 1,
		EntryLimitsConfig: EntryLimitsConfig{Labels: 2, Mappings: 3, Locations: 4, Lines: 5, LinesPerLocation: 6, Functions: 7, Strings: 8, Comments: 9},
	}, limits)
	var got pprof.Limits
	CopyLimits(&got, limits)
	assert.Equal(t, want, got)
}

func TestCheckLimits(t *testing.T) {
	limits := section{Payloads: 1}
	CopyLimits(&limits, pprof.DefaultLimits())
	assert.NoError(t, CheckLimits(limits, "limits: "))
	limits.StringBytes, limits.Comments = 0, -1
	assert.EqualError(t, CheckLimits(limits, "limits: "),
		"limits: string_bytes must be above 0, is 0\nlimits: comments must be above 0, is -1")
	limits.StringBytes, limits.Comments = MaxBytes, math.MaxInt
	assert.NoError(t, CheckLimits(limits, ""))
	limits.StringBytes++
	assert.EqualError(t, CheckLimits(limits, ""), fmt.Sprintf("string_bytes must not be above %d, is %d", MaxBytes, MaxBytes+1))
}

func TestLinkLabels(t *testing.T) {
	option := NewLinkLabelsConfig(pprof.DefaultLinkLabels())
	assert.NoError(t, CheckLinkLabels(option))
	assert.Equal(t, pprof.DefaultLinkLabels(), LinkLabels(option))
	assert.NotNil(t, LinkLabels(nil), "nil would be the default of the translator")
	assert.EqualError(t, CheckLinkLabels(append(option, LinkLabelsConfig{Span: "span"})), "link_labels[3].trace must be set")
}
