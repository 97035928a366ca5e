// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package merge merges pprofs.
package merge // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/merge"

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
	"github.com/otelpprof/otelpprof/internal/selector"
)

var (
	// ErrDiffers is the error for profiles without a sample type in common.
	ErrDiffers = pprofmerge.ErrDiffers
	// ErrNoSamples is the error if no sample has the selected labels.
	ErrNoSamples = errors.New("no sample has these labels")
	// ErrInvalid is the error if google/pprof refuses the merged profile.
	ErrInvalid = errors.New("the profile is not valid")
)

// maxInflated is larger than any profile in memory.
const maxInflated = 1 << 30

// Work is the state of a request that merges profiles.
type Work struct {
	Context context.Context //nolint:containedctx // its lifetime is that of the request
	// Reservation is the memory of the work. It grows before memory is allocated.
	Reservation *memory.Reservation
	// Only selects samples by their labels. If it is empty, all samples count. BaseOnly does the same for the samples to
	// compare with.
	Only, BaseOnly []selector.Selector
}

// take reserves memory, so that the work has at least this number of bytes. It returns an error if the request has ended.
func (w *Work) take(bytes int64) error {
	if err := w.Context.Err(); err != nil {
		return err
	}
	return w.Reservation.Grow(w.Context, bytes)
}

// Keep reserves exactly this number of bytes. All other memory of the work must be garbage.
func (w *Work) Keep(bytes int64) error {
	w.Reservation.Shrink(bytes)
	return w.take(bytes)
}

// Profiles merges entries, at least one, into one uncompressed pprof. It sums the values of all sample types. Of each type whose values are
// a state at one time, only the latest profile of each instance counts, see gauges. It returns early if the request ends.
func Profiles(w *Work, entries []*recent.Entry) ([]byte, error) {
	if len(entries) == 1 && len(w.Only) == 0 { // unchanged
		return inflated(w, nil, entries[0])
	}
	merger, raw, err := sum(w, entries, nil, nil)
	if err != nil {
		return nil, err
	}
	return written(w, merger, raw)
}

// sum adds entries, subtracts those of base, and fills counts. It also returns memory for reuse.
func sum(w *Work, entries, base []*recent.Entry, counts *Counts) (merger *pprofmerge.Merger, raw []byte, err error) {
	merger = pprofmerge.New()
	merger.CountLabels = counts != nil
	merger.CountOthers = counts != nil && counts.Alternatives
	merger.Reserve = func(bytes int64) error { return w.take(bytes + int64(cap(raw))) }
	// Both sides can have the same entry, which may be the latest of one side only.
	latest, latestOfBase := gaugesOf(entries), gaugesOf(base)
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
		if isBase {
			err = merger.Subtract(raw, latestOfBase.silent(e))
		} else {
			err = merger.Add(raw, latest.silent(e))
		}
		if errors.Is(err, pprofwire.ErrMalformed) {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("cannot merge a profile in memory: %w", err)
		}
		if counts != nil && !isBase {
			counts.added(merger, e)
		}
	}
	if err := merger.Comparable(); err != nil {
		return nil, nil, fmt.Errorf("cannot merge profiles in memory: %w", err)
	}
	if len(w.Only) > 0 && merger.Samples() == 0 {
		return nil, nil, ErrNoSamples
	}
	return merger, raw, nil
}

// Count returns the number of samples of an entry that have the selected labels. It uses the memory of raw, and returns memory
// for reuse.
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
		return nil, fmt.Errorf("cannot read a profile in memory: %w", err)
	}
	return raw, nil
}

// written returns the sum as a pprof, and shrinks the reservation to its size.
func written(w *Work, merger *pprofmerge.Merger, raw []byte) ([]byte, error) {
	size := merger.OutputBytes()
	if err := w.take(merger.Bytes() + int64(cap(raw)) + size); err != nil {
		return nil, err
	}
	raw = merger.Append(raw[:0])
	return raw, w.Keep(int64(cap(raw)))
}

// View merges entries, subtracts those of base, and returns the parts of the sum that a view selects, for google/pprof.
// Afterwards the reservation has the costs of the view and extra bytes. View fills counts unless they are nil.
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
	merger = nil //nolint:wastedassign // it is garbage while a page is drawn
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

// Tally fills counts of entries only. Afterwards the reservation has extra bytes.
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
