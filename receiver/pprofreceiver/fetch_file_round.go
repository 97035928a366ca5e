// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// round reads all new files, and counts each of them.
func (f *files) round(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	paths, unlisted := f.list()
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

// list returns the files that exist. An error says that there may be more: a directory cannot be read.
func (f *files) list() ([]string, error) {
	paths, err := doublestar.FilepathGlob(f.cfg.Include, doublestar.WithFailOnIOErrors())
	if err == nil {
		return paths, nil
	}
	paths, _ = doublestar.FilepathGlob(f.cfg.Include) // The error would be the same one.
	return paths, fmt.Errorf("cannot list all files: %w", err)
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

// maxWaitingFiles is the number of files that are processed or waiting for results at a time.
const maxWaitingFiles = 64
