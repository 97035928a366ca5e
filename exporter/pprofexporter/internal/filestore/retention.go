// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Reason says which bound a file was removed for.
type Reason string

// The reasons.
const (
	ReasonAge  Reason = "age"
	ReasonSize Reason = "size"
)

const (
	// checkInterval is the time between two looks at the bounds, which cost nothing while there is nothing to remove.
	checkInterval = time.Second
	// recountInterval is the longest time between two walks, so that what others removed is noticed.
	recountInterval = time.Hour
	// troublePause is the time without removals after one that failed.
	troublePause = time.Minute
	// walkShare keeps walks to a tenth of the time.
	walkShare = 10
	// maxOldest is how many files a walk remembers, the oldest ones. One walk so serves that many removals.
	maxOldest = 10_000
)

// retention removes old files. It knows the oldest files of the last walk; all others are younger than these, so the
// directory need not be read again before they are gone.
type retention struct {
	store *Store
	// oldest are the next files to remove, in this order. All files that are not in it are at least as young as bound.
	oldest []entry
	bound  time.Time
	epoch  int
	walked time.Time
	// nextWalk and nextRemoval are the earliest times for these.
	nextWalk, nextRemoval time.Time
}

type entry struct {
	name string
	time time.Time
	size int64
}

func newRetention(s *Store) *retention { return &retention{store: s} }

func (r *retention) bounded() bool {
	return r.store.options.MaxAge > 0 || r.store.options.MaxTotalSize > 0
}

// run removes what a crash left, then keeps to the bounds until ctx is done.
func (r *retention) run(ctx context.Context) {
	r.walk(ctx, true)
	if !r.bounded() {
		return
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		r.enforce(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// enforce removes files until the bounds are kept.
func (r *retention) enforce(ctx context.Context) {
	for ctx.Err() == nil && !time.Now().Before(r.nextRemoval) {
		reason, due := r.due()
		outdated := r.epoch != r.store.holdings.getEpoch() || time.Since(r.walked) > recountInterval
		switch {
		case outdated || due && len(r.oldest) == 0:
			if time.Now().Before(r.nextWalk) {
				return
			}
			r.walk(ctx, false)
		case due:
			r.remove(r.oldest[0], reason)
			r.oldest = r.oldest[1:]
		default:
			return
		}
	}
}

// due tells whether a file must go. The last one never goes for its size.
func (r *retention) due() (Reason, bool) {
	options := r.store.options
	first := r.bound
	if len(r.oldest) > 0 {
		first = r.oldest[0].time
	}
	if options.MaxAge > 0 && time.Since(first) > options.MaxAge {
		return ReasonAge, true
	}
	files, bytes, known := r.store.holdings.get()
	return ReasonSize, options.MaxTotalSize > 0 && known && bytes > options.MaxTotalSize && files > 1
}

// remove removes one file, and its directories as far as they are empty then.
func (r *retention) remove(e entry, reason Reason) {
	d := r.store.directory()
	info, err := d.Lstat(e.name)
	if err == nil {
		if !info.Mode().IsRegular() || info.Size() != e.size || !info.ModTime().Equal(e.time) {
			return // no more what it was: the next walk decides
		}
		err = d.Remove(e.name)
	}
	switch {
	case err == nil:
		r.store.holdings.removed(e.size)
		r.store.options.Removed(reason, e.size)
		removeEmpty(d, path.Dir(e.name))
	case isAbsent(err):
		r.store.holdings.removed(e.size)
	default:
		r.store.options.Trouble(fmt.Errorf("cannot remove %q, which is due for its %s: %w", e.name, reason, err))
		r.bound = e.time // so that another walk finds it again
		r.nextRemoval = time.Now().Add(troublePause)
	}
}

// removeEmpty removes a directory and those above it as long as they are empty.
func removeEmpty(d directory, name string) {
	for ; name != "."; name = path.Dir(name) {
		info, err := d.Lstat(name)
		if err != nil || !info.IsDir() || d.Remove(name) != nil {
			return
		}
	}
}

// openRoot opens the directory. It tries again if the store has just opened it anew, because it had been removed.
func (r *retention) openRoot() (*os.Root, error) {
	for {
		current := r.store.directory()
		root, err := current.OpenRoot(".")
		if !errors.Is(err, fs.ErrClosed) || r.store.directory() == current {
			return root, err
		}
	}
}

// walk counts the files, remembers the oldest, and removes stale temporary files if told to.
func (r *retention) walk(ctx context.Context, removeStale bool) {
	begin := time.Now()
	root, err := r.openRoot()
	if err != nil {
		r.store.options.Trouble(fmt.Errorf("cannot open the directory to look for old files: %w", err))
		r.nextWalk = begin.Add(troublePause)
		return
	}
	defer root.Close()

	var stale []string
	var files, bytes int64
	holdings := &r.store.holdings
	r.oldest, r.bound, r.walked = nil, begin, begin
	r.epoch = holdings.beginWalk()
	walker := walker{
		wanted: func(name string) bool {
			return r.store.isStale(path.Base(name)) || r.bounded() && r.store.options.Owns(name)
		},
		visit: func(name string, info fs.FileInfo) {
			if r.store.isStale(path.Base(name)) {
				stale = append(stale, name)
				return
			}
			if !holdings.isFresh(name) {
				files++
				bytes += info.Size()
			}
			r.remember(entry{name: name, time: info.ModTime(), size: info.Size()})
		},
		trouble: r.store.options.Trouble,
	}
	err = walker.walk(ctx, root, "", r.store.options.Depth)
	holdings.endWalk(r.epoch, err == nil && r.bounded(), files, bytes)
	r.trim()
	r.nextWalk = time.Now().Add((walkShare - 1) * time.Since(begin))
	if removeStale {
		r.removeStale(stale)
	}
}

func (r *retention) remember(e entry) {
	if r.oldest = append(r.oldest, e); len(r.oldest) == 2*maxOldest {
		r.trim()
	}
}

// trim sorts the files and forgets the younger ones.
func (r *retention) trim() {
	slices.SortFunc(r.oldest, func(a, b entry) int {
		return cmp.Or(a.time.Compare(b.time), strings.Compare(a.name, b.name))
	})
	if len(r.oldest) > maxOldest {
		// What was forgotten before may be older than what is forgotten now.
		if first := r.oldest[maxOldest].time; first.Before(r.bound) {
			r.bound = first
		}
		r.oldest = r.oldest[:maxOldest:maxOldest]
	}
}

func (r *retention) removeStale(names []string) {
	d := r.store.directory()
	for _, name := range names {
		if err := d.Remove(name); err != nil && !isAbsent(err) {
			r.store.options.Trouble(fmt.Errorf("cannot remove the temporary file %q: %w", name, err))
		}
	}
}
