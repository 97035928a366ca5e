// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// SampleShape is the form of the samples in the result.
type SampleShape string

const (
	// SampleShapeCombined has one sample for each identity, with all its values and timestamps.
	SampleShapeCombined SampleShape = "combined"
	// SampleShapePerEvent has one sample for each timestamp.
	SampleShapePerEvent SampleShape = "per_event"
	// SampleShapeTotal has one sample for each identity, with one value and no timestamp.
	SampleShapeTotal SampleShape = "total"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (s *SampleShape) UnmarshalText(text []byte) error {
	return configcheck.Word(s, text, "sample_shape", SampleShapeCombined, SampleShapePerEvent, SampleShapeTotal)
}

func (s SampleShape) shape() dedup.Shape {
	switch s {
	case SampleShapePerEvent:
		return dedup.ShapePerEvent
	case SampleShapeTotal:
		return dedup.ShapeTotal
	default:
		return dedup.ShapeCombined
	}
}

// OnInvalid is what to do with a profile that violates the format.
type OnInvalid string

const (
	// OnInvalidDropProfile drops the profile and keeps all others of its message.
	OnInvalidDropProfile OnInvalid = "drop_profile"
	// OnInvalidReject refuses the message with a permanent error.
	OnInvalidReject OnInvalid = "reject"
	// OnInvalidPass leaves the message as it is.
	OnInvalidPass OnInvalid = "pass"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (o *OnInvalid) UnmarshalText(text []byte) error {
	return configcheck.Word(o, text, "on_invalid", OnInvalidDropProfile, OnInvalidReject, OnInvalidPass)
}

func (o OnInvalid) action() dedup.OnInvalid {
	switch o {
	case OnInvalidReject:
		return dedup.Reject
	case OnInvalidPass:
		return dedup.Pass
	default:
		return dedup.DropProfile
	}
}

// LinksWithoutSpan says what becomes of links that name a trace only, or a span only.
type LinksWithoutSpan string

const (
	// LinksWithoutSpanDrop makes an attribute of the sample of what the link names.
	LinksWithoutSpanDrop LinksWithoutSpan = "drop"
	// LinksWithoutSpanKeep leaves the link as it is.
	LinksWithoutSpanKeep LinksWithoutSpan = "keep"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (l *LinksWithoutSpan) UnmarshalText(text []byte) error {
	return configcheck.Word(l, text, "links_without_span", LinksWithoutSpanDrop, LinksWithoutSpanKeep)
}

// NegativeLines says what becomes of lines, columns and start lines below 0.
type NegativeLines string

const (
	// NegativeLinesClear makes them 0, which says that they are not known.
	NegativeLinesClear NegativeLines = "clear"
	// NegativeLinesKeep leaves them as they are.
	NegativeLinesKeep NegativeLines = "keep"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (l *NegativeLines) UnmarshalText(text []byte) error {
	return configcheck.Word(l, text, "negative_lines", NegativeLinesClear, NegativeLinesKeep)
}

// FunctionsWithoutName says what becomes of functions that have neither a name, a system name nor a file name.
type FunctionsWithoutName string

const (
	// FunctionsWithoutNameName gives them a name.
	FunctionsWithoutNameName FunctionsWithoutName = "name"
	// FunctionsWithoutNameKeep leaves them as they are.
	FunctionsWithoutNameKeep FunctionsWithoutName = "keep"
)

// UnmarshalText makes any other word an error when the configuration is read.
func (f *FunctionsWithoutName) UnmarshalText(text []byte) error {
	return configcheck.Word(f, text, "functions_without_name", FunctionsWithoutNameName, FunctionsWithoutNameKeep)
}
