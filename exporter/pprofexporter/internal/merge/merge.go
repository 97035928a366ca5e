// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package merge makes one pprof of many.
package merge // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/merge"

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/inflate"
)

// ErrDiffers says that profiles measure what cannot be added up.
var ErrDiffers = errors.New("the profiles do not measure the same")

// Profiles merges entries, at least one. Values are summed, but of those that say how much there is at a time only the latest profile of
// each instance counts. It ends early when ctx does.
func Profiles(ctx context.Context, entries []*recent.Entry) (*profile.Profile, error) {
	latest := map[string]*recent.Entry{}
	for _, e := range entries {
		if other := latest[e.Instance]; other == nil || !e.End.Before(other.End) {
			latest[e.Instance] = e
		}
	}
	var merged *profile.Profile
	var buffer []byte
	chunk := make([]*profile.Profile, 0, chunkSize+1)
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := parse(e, &buffer)
		if err != nil {
			return nil, fmt.Errorf("cannot read a profile that is held: %w", err)
		}
		if latest[e.Instance] != e {
			clearGauges(p, e.Gauges)
		}
		if chunk = append(chunk, p); len(chunk) < chunkSize && i < len(entries)-1 {
			continue
		}
		if merged, err = sum(chunk); err != nil {
			return nil, err
		}
		chunk = append(chunk[:0], merged)
	}
	return merged, nil
}

// chunkSize is how many profiles are in memory at a time, all others being compressed or merged.
const chunkSize = 16

// parse reads an entry. buffer is for its bytes, of which the profile keeps none.
func parse(e *recent.Entry, buffer *[]byte) (p *profile.Profile, err error) {
	if *buffer, err = inflate.Append((*buffer)[:0], e.Gzip, maxInflated); err != nil {
		return nil, err
	}
	if p, err = profile.ParseUncompressed(*buffer); err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	return p, nil
}

// maxInflated is above all that is held.
const maxInflated = 1 << 30

// sum merges profiles, which it changes.
func sum(profiles []*profile.Profile) (*profile.Profile, error) {
	if err := profile.CompatibilizeSampleTypes(profiles); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	merged, err := profile.Merge(profiles)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	return merged, nil
}

// clearGauges makes the values of some sample types 0. Merging leaves out samples of which nothing remains.
func clearGauges(p *profile.Profile, gauges []int) {
	if len(gauges) == 0 {
		return
	}
	for _, s := range p.Sample {
		for _, i := range gauges {
			if i < len(s.Value) {
				s.Value[i] = 0
			}
		}
	}
}

// Difference returns p less base, which both measure the same. Base becomes part of the result.
func Difference(p, base *profile.Profile) (*profile.Profile, error) {
	base.SetLabel("pprof::base", []string{"true"}) // how google/pprof knows what percentages are of
	base.Scale(-1)
	return sum([]*profile.Profile{p, base})
}
