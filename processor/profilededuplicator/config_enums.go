// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"github.com/otelpprof/otelpprof/internal/configcheck"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// SampleShape is the form of the samples in the result. Samples with equal stack, attributes and link are equal.
type SampleShape string

const (
	// SampleShapeCombined combines equal samples into one, with all values and timestamps.
	SampleShapeCombined SampleShape = "combined"
	// SampleShapePerEvent makes one sample per timestamp.
	SampleShapePerEvent SampleShape = "per_event"
	// SampleShapeTotal combines equal samples into one, with one value and no timestamp.
	SampleShapeTotal SampleShape = "total"
)

// UnmarshalText returns an error for any other word.
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
	// OnInvalidDropProfile drops the profile and keeps the other profiles of the message.
	OnInvalidDropProfile OnInvalid = "drop_profile"
	// OnInvalidReject refuses the message with a permanent error.
	OnInvalidReject OnInvalid = "reject"
	// OnInvalidPass passes the message on unchanged.
	OnInvalidPass OnInvalid = "pass"
)

// UnmarshalText returns an error for any other word.
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

// LinksWithoutSpan is what to do with links that have only a trace id, or only a span id.
type LinksWithoutSpan string

const (
	// LinksWithoutSpanDrop replaces the link with an attribute of the sample that has the id.
	LinksWithoutSpanDrop LinksWithoutSpan = "drop"
	// LinksWithoutSpanKeep keeps the link.
	LinksWithoutSpanKeep LinksWithoutSpan = "keep"
)

// UnmarshalText returns an error for any other word.
func (l *LinksWithoutSpan) UnmarshalText(text []byte) error {
	return configcheck.Word(l, text, "links_without_span", LinksWithoutSpanDrop, LinksWithoutSpanKeep)
}

// NegativeLines says what happens to lines, columns and start lines below 0.
type NegativeLines string

const (
	// NegativeLinesClear makes them 0, which says that they are not known.
	NegativeLinesClear NegativeLines = "clear"
	// NegativeLinesKeep leaves them as they are.
	NegativeLinesKeep NegativeLines = "keep"
)

// UnmarshalText returns an error for any other word when the configuration is read.
func (l *NegativeLines) UnmarshalText(text []byte) error {
	return configcheck.Word(l, text, "negative_lines", NegativeLinesClear, NegativeLinesKeep)
}

// FunctionsWithoutName says what happens to functions that have neither a name, a system name nor a file name.
type FunctionsWithoutName string

const (
	// FunctionsWithoutNameName gives them a name.
	FunctionsWithoutNameName FunctionsWithoutName = "name"
	// FunctionsWithoutNameKeep leaves them as they are.
	FunctionsWithoutNameKeep FunctionsWithoutName = "keep"
)

// UnmarshalText returns an error for any other word when the configuration is read.
func (f *FunctionsWithoutName) UnmarshalText(text []byte) error {
	return configcheck.Word(f, text, "functions_without_name", FunctionsWithoutNameName, FunctionsWithoutNameKeep)
}

// TimestampsOutside says what happens to a profile whose time range does not hold all timestamps of its samples.
type TimestampsOutside string

const (
	// TimestampsOutsideWiden widens the time range, by one hour on each side at most.
	TimestampsOutsideWiden TimestampsOutside = "widen"
	// TimestampsOutsideKeep leaves it as it is.
	TimestampsOutsideKeep TimestampsOutside = "keep"
)

// UnmarshalText reads a name.
func (o *TimestampsOutside) UnmarshalText(text []byte) error {
	return configcheck.Word(o, text, "timestamps_outside", TimestampsOutsideWiden, TimestampsOutsideKeep)
}
