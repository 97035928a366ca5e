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
