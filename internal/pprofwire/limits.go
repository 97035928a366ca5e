// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"math"
)

// Limits bound what [Profile.Read] takes. All must be positive.
type Limits struct {
	// SampleTypes, Samples, Labels and so on are the numbers of entries of the payload.
	SampleTypes, Samples, Labels int
	Mappings, Locations, Lines   int
	Functions, Strings, Comments int
	// LocationsPerSample is the depth of one stack.
	LocationsPerSample int
	// LabelsPerSample is the number of labels of one sample.
	LabelsPerSample int
	// LinesPerLocation is the number of lines of one location, that is of functions that are inlined there.
	LinesPerLocation int
	// StringBytes is the length of one string.
	StringBytes int

	// Reserve, when set, is asked before tables grow, with the bytes that all of them then take. An error ends the reading.
	Reserve func(bytes int64) error
}

// NoLimits are limits that every payload keeps.
func NoLimits() Limits {
	const n = math.MaxInt32
	return Limits{
		SampleTypes: n, Samples: n, Labels: n, Mappings: n, Locations: n, Lines: n, Functions: n, Strings: n, Comments: n,
		LocationsPerSample: n, LabelsPerSample: n, LinesPerLocation: n, StringBytes: n,
	}
}

// check compares the size of each table with its limit.
func (n *counts) check(limits *Limits) error {
	for _, table := range [...]struct {
		name     string
		n, limit int
	}{
		{"sample types", n.sampleTypes, limits.SampleTypes},
		{"samples", n.samples, limits.Samples},
		{"labels", n.labels, limits.Labels},
		{"mappings", n.mappings, limits.Mappings},
		{"locations", n.locations, limits.Locations},
		{"lines", n.lines, limits.Lines},
		{"functions", n.functions, limits.Functions},
		{"strings", n.strings, limits.Strings},
		{"comments", n.comments, limits.Comments},
	} {
		if table.n > table.limit {
			return TooLarge(table.name, table.n, table.limit)
		}
	}
	return nil
}

// checkSample checks what sample i has.
func (l *Limits) checkSample(i, locations, labels int) error {
	if locations > l.LocationsPerSample {
		return TooLarge(fmt.Sprintf("locations of sample %d", i), locations, l.LocationsPerSample)
	}
	if labels > l.LabelsPerSample {
		return TooLarge(fmt.Sprintf("labels of sample %d", i), labels, l.LabelsPerSample)
	}
	return nil
}

// checkLocation checks what location i has.
func (l *Limits) checkLocation(i, lines int) error {
	if lines > l.LinesPerLocation {
		return TooLarge(fmt.Sprintf("lines of location %d", i), lines, l.LinesPerLocation)
	}
	return nil
}
