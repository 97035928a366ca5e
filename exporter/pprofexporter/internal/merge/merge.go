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
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

var (
	// ErrDiffers says that profiles measure what cannot be added up.
	ErrDiffers = pprofmerge.ErrDiffers
	// ErrInvalid says that google/pprof does not take what was merged.
	ErrInvalid = errors.New("the profile is not valid")
)

// maxInflated is above all that is held.
const maxInflated = 1 << 30

// Profiles merges entries, at least one, into one pprof without compression. Values are summed, but of those that say how
// much there is at a time only the latest profile of each instance counts. It ends early when ctx does.
func Profiles(ctx context.Context, entries []*recent.Entry) ([]byte, error) {
	latest := latestOfEach(entries)
	merger := pprofmerge.New()
	var raw []byte
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if raw, err = inflate.Append(raw[:0], e.Compressed, maxInflated); err != nil {
			return nil, fmt.Errorf("cannot read a profile that is held: %w", err)
		}
		if len(entries) == 1 {
			return raw, nil // as it came
		}
		silent := e.Gauges
		if latest[e] {
			silent = nil
		}
		if err := merger.Add(raw, silent); err != nil {
			return nil, fmt.Errorf("cannot merge a profile that is held: %w", err)
		}
	}
	return merger.Append(raw[:0]), nil
}

// latestOfEach returns the latest entry of each instance.
func latestOfEach(entries []*recent.Entry) map[*recent.Entry]bool {
	byInstance := map[string]*recent.Entry{}
	for _, e := range entries {
		instance := e.Instance()
		if other := byInstance[instance]; other == nil || !e.End.Before(other.End) {
			byInstance[instance] = e
		}
	}
	latest := make(map[*recent.Entry]bool, len(byInstance))
	for _, e := range byInstance {
		latest[e] = true
	}
	return latest
}

// Parsed is Profiles for google/pprof.
func Parsed(ctx context.Context, entries []*recent.Entry) (*profile.Profile, error) {
	raw, err := Profiles(ctx, entries)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return p, nil
}

// Difference returns p less base, which both measure the same. Base becomes part of the result.
func Difference(p, base *profile.Profile) (*profile.Profile, error) {
	base.SetLabel("pprof::base", []string{"true"}) // how google/pprof knows what percentages are of
	base.Scale(-1)
	both := []*profile.Profile{p, base}
	if err := profile.CompatibilizeSampleTypes(both); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	difference, err := profile.Merge(both)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	return difference, nil
}
