// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

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
