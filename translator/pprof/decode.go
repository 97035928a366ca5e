// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// ValueType names a sample type and its unit, such as cpu and nanoseconds.
type ValueType struct {
	Type string
	Unit string
}

// Source says what the transport knows of a payload.
type Source struct {
	// Resource is copied to the resource of the result. The zero Map means none.
	Resource pcommon.Map
	// ScopeName and ScopeVersion become the instrumentation scope.
	ScopeName    string
	ScopeVersion string
	// ProfileName becomes the profile attribute profile.name, when set: the name that the client shows.
	ProfileName string
	// SampleTypes stand in for those of a payload that names none.
	SampleTypes []ValueType
}

// DecodeStats tell what was read and what was mended on the way.
type DecodeStats struct {
	// InflatedBytes is the size of the pprof after decompression.
	InflatedBytes int
	// Samples is the number of samples of the pprof, OTLPSamples that of the samples made.
	Samples     int
	OTLPSamples int
	// Repairs counts what was tolerated, by kind.
	Repairs Repairs
}

// Decoder translates pprof payloads to OTLP profiles. Safe for concurrent use.
type Decoder struct{}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts DecodeOptions) *Decoder { return &Decoder{} }

// Decode translates one payload: profile.proto bytes, plain or in gzip or zstd, nested too.
func (d *Decoder) Decode(payload []byte, src Source) (pprofile.Profiles, DecodeStats, error) {
	return pprofile.Profiles{}, DecodeStats{}, ErrNotPprof
}

// Repairs counts what a [Decoder] tolerated in a payload.
type Repairs struct {
	UnknownFields int
}
