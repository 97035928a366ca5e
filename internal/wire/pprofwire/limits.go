// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import (
	"fmt"
	"math"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// MaxLinesPerLocation is the limit of LinesPerLocation for payloads from outside.
const MaxLinesPerLocation = 4096

// Limits limits the payloads that [Profile.Read] accepts. All numbers must be positive.
type Limits struct {
	// SampleTypes and Samples limit the entries of these tables. The size of the payload limits the others.
	SampleTypes, Samples int
	// LocationsPerSample limits the locations of one sample, and LinesPerLocation the lines of one location.
	LocationsPerSample, LinesPerLocation int
	// LabelsPerSample limits the labels of one sample.
	LabelsPerSample int
	// StringBytes limits the length of one string.
	StringBytes int

	// Memory counts the tables before they grow, beside what it has in use. Read returns its error. It may be nil.
	Memory *meter.Meter
}

// NoLimits returns limits that no payload exceeds.
func NoLimits() Limits {
	const n = math.MaxInt32
	return Limits{SampleTypes: n, Samples: n, LocationsPerSample: n, LinesPerLocation: n, LabelsPerSample: n, StringBytes: n}
}

// check compares the sizes of the tables with their limits.
func (n *counts) check(limits *Limits) error {
	if n.sampleTypes > limits.SampleTypes {
		return TooLarge("sample types", n.sampleTypes, limits.SampleTypes)
	}
	if n.samples > limits.Samples {
		return TooLarge("samples", n.samples, limits.Samples)
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
