// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"math"
)

// Limits limits the payloads that [Profile.Read] accepts. All numbers must be positive.
type Limits struct {
	// SampleTypes, Samples, Labels and so on limit the entries of each table.
	SampleTypes, Samples, Labels int
	Mappings, Locations, Lines   int
	Functions, Strings, Comments int
	// LocationsPerSample limits the depth of one stack.
	LocationsPerSample int
	// LabelsPerSample limits the labels of one sample.
	LabelsPerSample int
	// LinesPerLocation limits the lines of one location: one, and one more for each function that is inlined there.
	LinesPerLocation int
	// StringBytes limits the length of one string.
	StringBytes int

	// Reserve is called before tables grow, with the bytes that all of them will need then. Read returns its error. It may
	// be nil.
	Reserve func(bytes int64) error
}

// NoLimits returns limits that no payload exceeds.
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

// checkSample checks the numbers of locations and labels of sample i.
func (l *Limits) checkSample(i, locations, labels int) error {
	if locations > l.LocationsPerSample {
		return TooLarge(fmt.Sprintf("locations of sample %d", i), locations, l.LocationsPerSample)
	}
	if labels > l.LabelsPerSample {
		return TooLarge(fmt.Sprintf("labels of sample %d", i), labels, l.LabelsPerSample)
	}
	return nil
}

// checkLocation checks the number of lines of location i.
func (l *Limits) checkLocation(i, lines int) error {
	if lines > l.LinesPerLocation {
		return TooLarge(fmt.Sprintf("lines of location %d", i), lines, l.LinesPerLocation)
	}
	return nil
}
