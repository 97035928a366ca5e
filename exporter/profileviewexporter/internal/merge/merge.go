// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package merge makes one pprof of many.
package merge // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/budget"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/selector"
)

var (
	// ErrDiffers says that profiles measure what cannot be added up.
	ErrDiffers = pprofmerge.ErrDiffers
	// ErrNoSamples says that no sample has the labels that are wanted.
	ErrNoSamples = errors.New("no sample has these labels")
	// ErrInvalid says that google/pprof does not take what was merged.
	ErrInvalid = errors.New("the profile is not valid")
)

// maxInflated is above all that is held.
const maxInflated = 1 << 30

// Work is the request that profiles are merged for.
type Work struct {
	Context context.Context //nolint:containedctx // it lives as long as the request
	// Reservation is of the memory that the work takes. It grows before that is taken.
	Reservation *budget.Reservation
	// Only are labels that samples must have. Without any, all samples count. BaseOnly are those of samples that are compared
	// with.
	Only, BaseOnly []selector.Selector
}

// take reserves memory, so that the work has at least so many bytes. It fails when the request has ended.
func (w *Work) take(bytes int64) error {
	if err := w.Context.Err(); err != nil {
		return err
	}
	return w.Reservation.Grow(w.Context, bytes)
}

// Keep reserves exactly so many bytes: what was taken beside them is garbage.
func (w *Work) Keep(bytes int64) error {
	w.Reservation.Shrink(bytes)
	return w.take(bytes)
}

// Profiles merges entries, at least one, into one pprof without compression. Values are summed, but of those that say how
// much there is at a time only the latest profile of each instance counts. It ends early when the request does.
func Profiles(w *Work, entries []*recent.Entry) ([]byte, error) {
	if len(entries) == 1 && len(w.Only) == 0 { // as it came
		return inflated(w, nil, entries[0])
	}
	merger, raw, err := sum(w, entries, nil, nil)
	if err != nil {
		return nil, err
	}
	return written(w, merger, raw)
}

// sum adds up entries less those of base, if there are any, and counts what is asked for. It also returns memory to use again.
func sum(w *Work, entries, base []*recent.Entry, counts *Counts) (merger *pprofmerge.Merger, raw []byte, err error) {
	merger = pprofmerge.New()
	merger.CountLabels = counts != nil
	merger.CountOthers = counts != nil && counts.Alternatives
	merger.Reserve = func(bytes int64) error { return w.take(bytes + int64(cap(raw))) }
	latest := latestOfEach(entries)
	maps.Copy(latest, latestOfEach(base))
	for i, e := range slices.Concat(entries, base) {
		if raw, err = inflated(w, raw, e); err != nil {
			return nil, nil, err
		}
		isBase := i >= len(entries)
		if merger.Only = w.Only; isBase {
			merger.Only = w.BaseOnly
		}
		if (!merger.CountOthers || isBase) && !pprofmerge.Mentions(raw, merger.Only) {
			continue
		}
		silent := e.Gauges
		if latest[e] {
			silent = nil
		}
		if isBase {
			err = merger.Subtract(raw, silent)
		} else {
			err = merger.Add(raw, silent)
		}
		if errors.Is(err, pprofwire.ErrMalformed) {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot merge a profile that is held: %w", err)
		}
		if counts != nil && !isBase {
			counts.added(merger, e)
		}
	}
	if len(w.Only) > 0 && merger.Samples() == 0 {
		return nil, nil, ErrNoSamples
	}
	return merger, raw, nil
}

// Count returns how many samples of an entry have the labels that are wanted. It uses the memory of raw, and returns it to be
// used again.
func Count(w *Work, raw []byte, e *recent.Entry) (samples int, memory []byte, err error) {
	if raw, err = inflated(w, raw, e); err != nil {
		return 0, raw, err
	}
	samples, err = pprofmerge.Count(raw, w.Only, func(bytes int64) error { return w.take(int64(cap(raw)) + bytes) })
	return samples, raw, err
}

// inflated returns the pprof of an entry, in the memory of raw if that is large enough.
func inflated(w *Work, raw []byte, e *recent.Entry) ([]byte, error) {
	if err := w.take(w.Reservation.Bytes() + max(0, int64(e.Inflated-cap(raw)))); err != nil {
		return nil, err
	}
	if e.Inflated > cap(raw) {
		raw = make([]byte, 0, e.Inflated)
	}
	raw, err := inflate.Append(raw[:0], e.Compressed, maxInflated)
	if err != nil {
		return nil, fmt.Errorf("cannot read a profile that is held: %w", err)
	}
	return raw, nil
}

// written returns the sum as a pprof, and reserves no more than that then.
func written(w *Work, merger *pprofmerge.Merger, raw []byte) ([]byte, error) {
	size := merger.OutputBytes()
	if err := w.take(merger.Bytes() + int64(cap(raw)) + size); err != nil {
		return nil, err
	}
	raw = merger.Append(raw[:0])
	return raw, w.Keep(int64(cap(raw)))
}

// latestOfEach returns the latest entry of each instance.
func latestOfEach(entries []*recent.Entry) map[*recent.Entry]bool {
	byInstance := map[recent.Instance]*recent.Entry{}
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

// View merges entries, less those of base if there are any, and returns of the sum what a view wants, for google/pprof. The
// reservation of the work has what the view is said to cost then, beside extra bytes. counts are filled, unless they are nil.
func View(w *Work, entries, base []*recent.Entry, view *pprofmerge.View, extra int64, counts *Counts) (*profile.Profile, pprofmerge.Reduction, error) {
	merger, raw, err := sum(w, entries, base, counts)
	if err == nil && counts != nil {
		err = counts.fill(merger)
	}
	if err != nil {
		return nil, pprofmerge.Reduction{}, err
	}
	reduction, err := merger.Reduce(view)
	if err != nil {
		return nil, reduction, err
	}
	if raw, err = written(w, merger, raw); err != nil {
		return nil, reduction, err
	}
	merger = nil //nolint:wastedassign // so that it is garbage while a page is made
	if err := w.Keep(int64(cap(raw)) + reduction.Cost + extra); err != nil {
		return nil, reduction, err
	}
	p, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, reduction, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return p, reduction, nil
}

// Tally fills counts of entries alone. The reservation of the work has extra bytes then.
func Tally(w *Work, entries []*recent.Entry, counts *Counts, extra int64) error {
	merger, _, err := sum(w, entries, nil, counts)
	if err == nil {
		err = counts.fill(merger)
	}
	if err != nil {
		return err
	}
	return w.Keep(extra)
}
