// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
)

const (
	// saveEvery is the number of files after which the state is saved within a round.
	saveEvery = 100
	// maxMoveNames limits the search for an unused name.
	maxMoveNames = 10_000
	// maxWaitingFiles is the number of files that are processed or waiting for results at a time.
	maxWaitingFiles = 64
)

// files reads files, each once unless it changes.
type files struct {
	*collector
	cfg   *FileConfig
	state *fileState
	// processing is held while a file is processed, but not while it only waits for its result. It protects what follows.
	processing sync.Mutex
	// missing has the files that were read and are gone together with their directory: since when.
	missing map[string]time.Time
	// unsaved counts the files that were read since the state was saved.
	unsaved int
}

func newFiles(set receiver.Settings, cfg *FileConfig, in *intake) (*files, error) {
	c, err := newCollector(set, in, nameFile, "file")
	if err != nil {
		return nil, err
	}
	c.format = in.formats.pprof(cfg.LegacyFormats, ", which file.legacy_formats: true allows")
	return &files{collector: c, cfg: cfg, missing: map[string]time.Time{}}, nil
}

// Start restores the state of an earlier run and starts the schedule.
func (f *files) Start(ctx context.Context, host component.Host) error {
	if f.cfg.MoveTo != "" {
		if err := os.MkdirAll(f.cfg.MoveTo, 0o750); err != nil {
			return err
		}
	}
	state, err := openFileState(ctx, host, f.set.ID, f.cfg.Storage)
	if err != nil {
		return err
	}
	f.state = state
	f.begin(host)
	f.start(&task{target: f.cfg.Include, run: f.round, end: func() {}}, f.cfg.Schedule)
	return nil
}

// Shutdown stops the schedule, waits for a round in progress, and saves the state.
func (f *files) Shutdown(ctx context.Context) error {
	if err := f.shutdown(ctx); err != nil || f.state == nil {
		return err
	}
	return errors.Join(f.state.save(ctx), f.state.close(ctx))
}

// round reads all new files, and counts each of them.
func (f *files) round(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	paths, unlisted := list(f.cfg.Include)
	present := make(map[string]bool, len(paths))
	moved, _ := os.Stat(f.cfg.MoveTo) // Without a directory there are no moved files.
	var failed error
	stopped := false
	waiting := make(chan struct{}, maxWaitingFiles)
	var running sync.WaitGroup
	for _, path := range paths {
		if present[path] || moved != nil && isIn(path, moved) {
			continue // A pattern with two ** lists a file several times.
		}
		present[path] = true
		waiting <- struct{}{}
		f.processing.Lock()
		running.Go(func() {
			defer func() {
				f.processing.Unlock()
				<-waiting
			}()
			if stopped {
				return
			}
			if err := f.process(ctx, path); err != nil {
				failed = err
				// The other files would fail for the same reason. The next round retries all of them.
				stopped = stopped || ctx.Err() != nil || classOf(err) == consumerUnavailable
			}
		})
	}
	running.Wait()
	if !stopped && unlisted == nil {
		f.forget(present)
	}
	return errors.Join(unlisted, failed, f.state.save(context.WithoutCancel(ctx)))
}

// isIn reports whether a file is in a directory. The path can be another one: a relative one, or one with links.
func isIn(path string, directory fs.FileInfo) bool {
	parent, err := os.Stat(filepath.Dir(path))
	return err == nil && os.SameFile(parent, directory)
}

// forgetAfter is how long files are remembered that are gone together with all others of their directory: they are back when
// its volume is mounted again.
const forgetAfter = 24 * time.Hour

// forget drops the state of files that no longer exist.
func (f *files) forget(present map[string]bool) {
	directories := map[string]bool{}
	for path := range present {
		directories[filepath.Dir(path)] = true
		delete(f.missing, path)
	}
	now := time.Now()
	for path := range f.state.read {
		since, wasMissing := f.missing[path]
		switch {
		case present[path]:
		case directories[filepath.Dir(path)], wasMissing && now.Sub(since) >= forgetAfter:
			delete(f.missing, path)
			f.state.forget(path)
		case !wasMissing:
			f.missing[path] = now
		}
	}
}

// process reads a file if it is new and complete.
func (f *files) process(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		// The file was deleted, is not a regular file, or is still empty: some profilers write only at the end.
		return nil
	}
	mark := markOf(info)
	if known := f.state.read[path]; known.fileMark == mark {
		if known.Undone {
			return f.finish(path, mark)
		}
		return nil
	}
	if time.Since(info.ModTime()).Abs() < f.cfg.Settle { // A clock may be wrong, and a time in the future.
		return nil
	}
	err = f.read(ctx, path, mark)
	if errors.Is(err, errChanging) {
		return nil
	}
	f.metrics.fetched(ctx, outcomeOf(err))
	if err != nil {
		f.set.Logger.Warn("Cannot read a file", zap.String("path", path), zap.Error(err))
		if !isAboutContent(err) {
			return err
		}
		// Retry only after the file changes.
		f.state.remember(path, mark)
		return nil
	}
	f.state.remember(path, mark)
	if err := f.finish(path, mark); err != nil {
		return err
	}
	if f.unsaved++; f.unsaved >= saveEvery {
		f.unsaved = 0
		return f.state.save(ctx)
	}
	return nil
}

// errChanging says that a file changed while it was read.
var errChanging = errors.New("the file is changing")

// read reads a file and passes it on. Meanwhile other files can be processed.
func (f *files) read(ctx context.Context, path string, mark fileMark) error {
	limit := int64(f.in.limits.InflatedBytes)
	if mark.Size > limit {
		return newRefusal(tooLarge, "the file has %d bytes, limits.inflated_bytes is %d", mark.Size, limit)
	}
	file, err := os.Open(path) //nolint:gosec // the configuration names it
	if err != nil {
		return err
	}
	defer file.Close()
	m, err := f.in.begin(ctx, mark.Size, func() {})
	if err != nil {
		return err
	}
	defer m.arrival.Release()
	content := make([]byte, mark.Size)
	_, err = io.ReadFull(file, content)
	if info, statErr := file.Stat(); statErr != nil || markOf(info) != mark || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errChanging
	}
	if err != nil {
		return err
	}
	source := f.in.newSource()
	if f.cfg.IncludeFilePath {
		source.Resource.PutStr("file.path", validText(path))
	}
	m.leave = func() {
		m.leave = nil
		f.processing.Unlock()
	}
	_, err = f.deliver(ctx, DeltaOff, nil, content, source, m)
	if m.leave == nil {
		m.arrival.Shrink(0) // Who has the lock may wait for it.
		f.processing.Lock()
	}
	return err
}

// finish deletes or moves a file that was read, if configured. If that fails, the next rounds try again, also after a restart, until it
// succeeds or the file changes.
func (f *files) finish(path string, mark fileMark) error {
	if !f.cfg.DeleteAfterRead && f.cfg.MoveTo == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && markOf(info) != mark:
		return nil // It is gone, or the next round reads the version that has replaced it.
	case err != nil:
	case f.cfg.DeleteAfterRead:
		err = os.Remove(path)
	default:
		err = moveTo(f.cfg.MoveTo, path)
	}
	if err != nil {
		f.state.setUndone(path)
	} else {
		f.state.forget(path)
	}
	return err
}

// moveTo moves a file to a directory of the same file system. It never replaces a file.
func moveTo(directory, path string) error {
	base := filepath.Join(directory, filepath.Base(path))
	name := base
	for i := 1; i < maxMoveNames; i++ {
		_, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return os.Rename(path, name)
		case err != nil:
			return err
		}
		name = base + "." + strconv.Itoa(i)
	}
	return errors.New("cannot find a free name for " + base)
}
