// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// jfrFormat is a recording of JDK Flight Recorder, from the JDK or a profiler, optionally in a container.
type jfrFormat struct {
	decoder   *jfr.Decoder
	container jfrContainer
	// labels is the labels snapshot of Pyroscope's agents, or nil.
	labels []byte
	// period is the time between two samples for a recording that does not have it. 0 means unknown.
	period time.Duration
}

// jfrFormat returns the format of a recording with these labels and this period.
func (in *intake) jfrFormat(labels []byte, period time.Duration) payloadFormat {
	return jfrFormat{
		decoder: in.recordings, container: jfrContainer{limit: in.limits.InflatedBytes}, labels: labels, period: period,
	}
}

// Decode translates a recording. The recording determines the names of the profiles, not source.
func (f jfrFormat) Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	reserve := source.Reserve
	unpacked, working, err := f.container.open(payload, reserve)
	if err != nil {
		return pprofile.Profiles{}, pprof.DecodeStats{InflatedBytes: int(min(working, int64(f.container.limit)))}, err
	}
	profiles, stats, err := f.decoder.Decode(unpacked, jfr.Source{
		Resource:     source.Resource,
		ScopeName:    source.ScopeName,
		ScopeVersion: source.ScopeVersion,
		Labels:       f.labels,
		Period:       f.period,
		Reserve:      func(bytes int64) error { return reserve(working + bytes) },
	})
	return profiles, pprof.DecodeStats{
		InflatedBytes: stats.InflatedBytes,
		MessageBytes:  stats.MessageBytes,
		Samples:       stats.Events,
		OTLPSamples:   stats.Samples,
		Repairs: pprof.Repairs{
			InvalidUTF8: stats.Repairs.InvalidUTF8,
			NoFunction:  stats.Repairs.NoMethod,
		},
	}, err
}
