// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Reason is the limit for which a file was removed.
type Reason string

// The reasons.
const (
	ReasonAge   Reason = "age"
	ReasonSize  Reason = "size"
	ReasonFiles Reason = "files"
)

const (
	// checkInterval is the time between two checks of the limits. A check is cheap while there is nothing to remove.
	checkInterval = time.Second
	// recountInterval is the maximum time between two walks. A walk finds the files that others removed.
	recountInterval = time.Hour
	// errorPause is the pause after a removal, a walk or an opening that failed.
	errorPause = time.Minute
	// walkShare limits walks to one tenth of the time.
	walkShare = 10
	// removalBatch is the number of files that are removed at a time.
	removalBatch = 64
	// maxOldest is the number of the oldest files that a walk remembers. One walk is enough for this many removals.
	maxOldest = 10_000
)

// retention removes old files. It remembers the oldest files of the last walk. All other files are younger, so that it need not read
// the directory again before these are removed.
type retention struct {
	store *Store
	// oldest has the next files to remove, in this order. No other file is older than minTime.
	oldest  []File
	minTime time.Time
	// walked is the time of the last walk.
	walked time.Time
	// nextWalk and nextFollow are the earliest times of the next walk and call of reopen.
	nextWalk, nextFollow time.Time
	// failed reports whether a removal has failed since the last walk.
	failed bool
}

func (r *retention) hasLimits() bool {
	return r.store.options.MaxAge > 0 || r.store.options.MaxTotalSize > 0 || r.store.options.MaxFiles > 0
}

// run removes the temporary files that a crash left. Then it follows the directory and enforces the limits until ctx is done.
func (r *retention) run(ctx context.Context) {
	r.walk(ctx, true)
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if r.hasLimits() {
			r.enforce(ctx)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
			r.follow()
		}
	}
}

// follow replaces the directory if its name is that of another one, or of none: someone has moved it, or mounted a volume.
func (r *retention) follow() {
	if time.Now().Before(r.nextFollow) {
		return
	}
	if err := r.store.reopen(r.store.directory()); err != nil {
		r.store.options.OnError(fmt.Errorf("cannot open the directory again: %w", err))
		r.nextFollow = time.Now().Add(errorPause)
	}
}

// enforce removes files until no limit is exceeded.
func (r *retention) enforce(ctx context.Context) {
	for ctx.Err() == nil {
		_, due := r.due()
		_, _, known := r.store.Held()
		switch {
		case !known || time.Since(r.walked) > recountInterval || due && len(r.oldest) == 0:
			if time.Now().Before(r.nextWalk) {
				return
			}
			r.walk(ctx, false)
		case due:
			r.removeOldest()
		default:
			return
		}
	}
}

// removeOldest removes up to removalBatch files. Meanwhile no directory is created: if each removal waited for the writers, which make
// the names of new directories durable, they would write more than is removed.
func (r *retention) removeOldest() {
	d := r.store.directory() // before the lock: reopen takes it while it has that of the directory
	r.store.parents.mu.Lock()
	defer r.store.parents.mu.Unlock()
	for range removalBatch {
		reason, due := r.due()
		if !due || len(r.oldest) == 0 {
			return
		}
		r.removeLocked(d, r.oldest[0], reason)
		r.oldest = r.oldest[1:]
	}
}

// due returns whether the oldest file must be removed, and why. The last file is never removed for its size.
func (r *retention) due() (Reason, bool) {
	options := r.store.options
	first := r.minTime
	if len(r.oldest) > 0 {
		first = r.oldest[0].Time
	}
	if options.MaxAge > 0 && time.Since(first) > options.MaxAge {
		return ReasonAge, true
	}
	files, bytes, known := r.store.Held()
	if options.MaxFiles > 0 && known && files > options.MaxFiles {
		return ReasonFiles, true
	}
	return ReasonSize, options.MaxTotalSize > 0 && known && bytes > options.MaxTotalSize && files > 1
}

// removeLocked removes one file, and its parent directories that are then empty.
func (r *retention) removeLocked(d directory, f File, reason Reason) {
	info, err := d.Lstat(f.Name)
	if err == nil {
		if !info.Mode().IsRegular() || info.Size() != f.Size || !info.ModTime().Equal(f.Time) {
			return // the file has changed: the next walk decides
		}
		err = d.Remove(f.Name)
	}
	switch {
	case err == nil:
		r.uncountLocked(d, f)
		r.store.options.OnRemove(reason, f.Size)
	case isAbsent(err):
		r.uncountLocked(d, f)
	case errors.Is(err, fs.ErrClosed): // The directory was replaced meanwhile: the next walk decides.
	case !r.failed: // The next walk finds it again. Meanwhile the files after it are removed.
		r.store.options.OnError(fmt.Errorf("cannot remove %q, which exceeds the limit of %s: %w", f.Name, reason, err))
		r.failed, r.minTime = true, f.Time
		if next := time.Now().Add(errorPause); r.nextWalk.Before(next) {
			r.nextWalk = next
		}
	}
}

// uncountLocked subtracts a removed file from the usage, and its parent directories, which it removes if they are empty.
func (r *retention) uncountLocked(d directory, f File) {
	r.store.usage.removed(onDisk(f.Size, r.store.parents.removeEmptyLocked(d, path.Dir(f.Name))))
}

// walk counts the files and remembers the oldest. With removeStale it removes the temporary files that a crash left.
func (r *retention) walk(ctx context.Context, removeStale bool) {
	begin := time.Now()
	r.store.mu.RLock() // Meanwhile the directory is not replaced.
	root, err := r.store.current.OpenRoot(".")
	r.store.mu.RUnlock()
	if err != nil {
		r.store.options.OnError(fmt.Errorf("cannot open the directory to find old files: %w", err))
		r.nextWalk = begin.Add(errorPause)
		return
	}
	defer root.Close()

	var stale []string
	var files, bytes int64
	last := "." // the parent of the last file that was counted
	usage := &r.store.usage
	r.oldest, r.minTime, r.walked, r.failed = nil, begin, begin, false
	usage.beginWalk()
	walker := walker{
		wanted: func(name string) bool {
			return r.store.isStale(path.Base(name)) || r.hasLimits() && r.store.options.Owns(name)
		},
		visit: func(f File) {
			if r.store.isStale(path.Base(f.Name)) {
				stale = append(stale, f.Name)
				return
			}
			if !usage.isFresh(f.Name) {
				parent := path.Dir(f.Name)
				files++
				bytes += onDisk(f.Size, directoriesBetween(last, parent))
				last = parent
			}
			r.remember(f)
		},
		onError: r.store.options.OnError,
	}
	err = walker.walk(ctx, root, "", r.store.options.Depth)
	usage.endWalk(err == nil && r.hasLimits(), files, bytes)
	r.trim()
	r.nextWalk = time.Now().Add((walkShare - 1) * time.Since(begin))
	if removeStale {
		r.removeStale(stale)
	}
}

func (r *retention) remember(f File) {
	if r.oldest = append(r.oldest, f); len(r.oldest) == 2*maxOldest {
		r.trim()
	}
}

// trim sorts the files and keeps the oldest maxOldest of them.
func (r *retention) trim() {
	slices.SortFunc(r.oldest, func(a, b File) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name))
	})
	if len(r.oldest) > maxOldest {
		// An earlier trim may have dropped files that are older than those of this one.
		if first := r.oldest[maxOldest].Time; first.Before(r.minTime) {
			r.minTime = first
		}
		r.oldest = r.oldest[:maxOldest:maxOldest]
	}
}

func (r *retention) removeStale(names []string) {
	d := r.store.directory()
	for _, name := range names {
		if err := d.Remove(name); err != nil && !isAbsent(err) {
			r.store.options.OnError(fmt.Errorf("cannot remove the temporary file %q: %w", name, err))
		}
		r.store.parents.removeEmpty(d, path.Dir(name))
	}
}
