// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gaugetypes tells which sample types are gauges: their values are a state at a point in time, and their sum over time has no
// meaning.
package gaugetypes // import "github.com/otelpprof/otelpprof/internal/gaugetypes"

import "strings"

// Default returns the patterns of the sample types that are gauges, see [Match].
func Default() []string {
	return []string{
		// Memory in use: Go, jemalloc, Node.js; gperftools and V8; Datadog; JFR.
		"inuse_*", "inuse-*", "objects", "space", "heap-live-*", "heap-space", "live_*", "live",
		// Numbers of goroutines and threads.
		"goroutine", "goroutines", "thread", "threads", "threadcreate",
	}
}

var defaults = Default()

// IsDefault reports whether one of the default patterns matches a type.
func IsDefault(typ, unit string) bool { return Match(defaults, typ, unit) }

// Match reports whether one of the patterns matches a type. A pattern is a type, or type/unit. A * at the end of either matches anything.
func Match(patterns []string, typ, unit string) bool {
	for _, pattern := range patterns {
		typePattern, unitPattern, hasUnit := strings.Cut(pattern, "/")
		if matches(typePattern, typ) && (!hasUnit || matches(unitPattern, unit)) {
			return true
		}
	}
	return false
}

func matches(pattern, text string) bool {
	if prefix, wildcard := strings.CutSuffix(pattern, "*"); wildcard {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}
