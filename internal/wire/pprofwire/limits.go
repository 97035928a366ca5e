// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pprofwire reads and writes profile.proto, the pprof format, on the wire.
//
// [Profile.Read] reads the bytes once and fills flat tables. There is no object per sample and there are no pointers; ids and
// string indices stay unresolved. The tables refer to the bytes, and their memory is reused by the next call. The Append
// functions append messages to a slice.
//
// The reader accepts repeated numbers packed, unpacked or mixed, and skips unknown fields. These are errors: a length beyond
// the end of its message, a varint of more than 64 bits, a string index that does not exist, and an exceeded limit. Fields
// with number 0 and tags that are longer than necessary are errors as well; no known producer writes them.
package pprofwire // import "github.com/otelpprof/otelpprof/internal/wire/pprofwire"

import (
	"errors"
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

var (
	// ErrMalformed says that the payload is not a valid pprof.
	ErrMalformed = errors.New("malformed pprof")
	// ErrTooLarge says that the payload exceeds a limit.
	ErrTooLarge = errors.New("pprof exceeds a limit")
)

// Errors inside a field. The reader adds which field it is.
var (
	errTruncated = errors.New("the payload ends in the middle of it")
	errOverlong  = errors.New("varint of more than 64 bits")
)

// Malformed returns an error that wraps [ErrMalformed] and says what is wrong.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// TooLarge returns an error that wraps [ErrTooLarge] and names the limit.
func TooLarge(what string, got, limit int) error {
	return fmt.Errorf("%w: %s: %d, the limit is %d", ErrTooLarge, what, got, limit)
}

// inField adds the field and the message to an error.
func inField(message string, field int, err error) error {
	return Malformed("cannot read field %d of %s: %s", field, message, err.Error())
}

func wrongWireType(message string, field, wireType int) error {
	return Malformed("field %d of %s has wire type %d", field, message, wireType)
}
