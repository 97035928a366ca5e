// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/internal/limits"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Decoder translates recordings to OTLP profiles. It is safe for concurrent use.
type Decoder struct {
	opts   Options
	memory scratch.Keeper[decoding]
}

// NewDecoder returns a Decoder with these options.
func NewDecoder(opts Options) *Decoder {
	opts.Limits = limits.WithDefaults(opts.Limits, pprof.DefaultLimits())
	if opts.LinkLabels == nil {
		opts.LinkLabels = pprof.DefaultLinkLabels()
	}
	return &Decoder{opts: opts}
}

// Decode translates one recording. The payload can be plain or compressed with gzip or zstd, also several times. The result has one
// resource, one scope, and a profile for each kind of event and value that occurs. It shares no memory with payload. Equal recordings
// with equal sources get equal profile ids.
//
// The error wraps [ErrMalformed] or [ErrTooLarge], or is that of the source. With an error, the profiles are empty, and the statistics
// have only InflatedBytes.
func (d *Decoder) Decode(payload []byte, src Source) (pprofile.Profiles, Stats, error) {
	t := d.memory.Get()
	if t == nil {
		t = &decoding{dict: dictionary.New()}
	}
	t.begin(&d.opts, src)
	profiles, err := t.decode(payload)
	stats := t.stats
	d.memory.Put(t, t.release())
	if err != nil {
		return pprofile.Profiles{}, Stats{DecodeStats: pprof.DecodeStats{InflatedBytes: stats.InflatedBytes}}, err
	}
	return profiles, stats, nil
}

func (t *decoding) decode(payload []byte) (pprofile.Profiles, error) {
	data, size, err := t.inflate(&t.inflated, payload, "recording")
	t.stats.InflatedBytes = size
	if err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readLabels(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readChunks(data); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.survey(); err != nil {
		return pprofile.Profiles{}, err
	}
	if err := t.readEvents(); err != nil {
		return pprofile.Profiles{}, err
	}
	return t.write(payload)
}
