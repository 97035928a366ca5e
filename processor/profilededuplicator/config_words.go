// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"github.com/otelpprof/otelpprof/internal/dedup"
)

// The words of sample_shape: the form of the samples in the result. Samples with equal stack, attributes and link are equal.
const (
	// SampleShapeCombined combines equal samples into one, with all values and timestamps.
	SampleShapeCombined = "combined"
	// SampleShapePerEvent makes one sample per timestamp.
	SampleShapePerEvent = "per_event"
	// SampleShapeTotal combines equal samples into one, with one value and no timestamp.
	SampleShapeTotal = "total"
)

var shapes = map[string]dedup.Shape{
	SampleShapeCombined: dedup.ShapeCombined,
	SampleShapePerEvent: dedup.ShapePerEvent,
	SampleShapeTotal:    dedup.ShapeTotal,
}

// The words of on_invalid: what to do with a profile that violates the format.
const (
	// OnInvalidDropProfile drops the profile and keeps the other profiles of the message.
	OnInvalidDropProfile = "drop_profile"
	// OnInvalidReject refuses the message with a permanent error.
	OnInvalidReject = "reject"
	// OnInvalidPass passes the message on unchanged.
	OnInvalidPass = "pass"
)

var actions = map[string]dedup.OnInvalid{
	OnInvalidDropProfile: dedup.DropProfile,
	OnInvalidReject:      dedup.Reject,
	OnInvalidPass:        dedup.Pass,
}

// The words of links_without_span: what to do with links that have only a trace id, or only a span id.
const (
	// LinksWithoutSpanDrop replaces the link with an attribute of the sample that has the id.
	LinksWithoutSpanDrop = "drop"
	// LinksWithoutSpanKeep keeps the link.
	LinksWithoutSpanKeep = "keep"
)

// The words of timestamps_outside: what happens to a profile whose time range does not hold all timestamps of its samples.
const (
	// TimestampsOutsideWiden widens the time range, by ten minutes on each side at most.
	TimestampsOutsideWiden = "widen"
	// TimestampsOutsideKeep leaves it as it is.
	TimestampsOutsideKeep = "keep"
)
