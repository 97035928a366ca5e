// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// round reads all new files. It counts each of them itself.
func (f *files) round(ctx context.Context) (outcome string, err error) {
	ctx, cancel := withTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	paths, unlisted := f.list()
	present := make(map[string]bool, len(paths))
	moved := newMovedFiles(f.cfg.MoveTo)
	var failed error
	stopped := false
	for _, path := range paths {
		if present[path] || moved.have(path) {
			continue // A pattern with two ** lists a file several times.
		}
		present[path] = true
		f.queue.run(func() {
			if stopped {
				return
			}
			if err := f.process(ctx, path); err != nil {
				failed = err
				// The other files would fail for the same reason. The next round retries all of them.
				stopped = stopped || ctx.Err() != nil || classify(err) == classConsumerUnavailable
			}
		})
	}
	f.queue.files.Wait()
	if !stopped && unlisted == nil {
		f.forget(present)
	}
	return "", errors.Join(unlisted, failed, f.state.save(context.WithoutCancel(ctx)))
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
	maps.DeleteFunc(f.settling, func(path string, _ settlingFile) bool { return !present[path] })
}

// maxWaitingFiles is the number of files that are processed or waiting for results at a time.
const maxWaitingFiles = 64

// fileQueue processes one file at a time. While a file only waits for its result, it processes the next one.
type fileQueue struct {
	processing sync.Mutex
	files      sync.WaitGroup
	// unfinished limits the files that are processed or wait.
	unfinished chan struct{}
}

func newFileQueue() *fileQueue { return &fileQueue{unfinished: make(chan struct{}, maxWaitingFiles)} }

// run waits until no file is being processed, then starts process. It does not wait until process returns.
func (q *fileQueue) run(process func()) {
	q.unfinished <- struct{}{}
	q.processing.Lock()
	q.files.Go(func() {
		defer func() {
			q.processing.Unlock()
			<-q.unfinished
		}()
		process()
	})
}

// unlockWhileWaiting calls call within process. From the call of leave on, the next file can be processed. When unlockWhileWaiting
// returns, no other file is being processed.
func (q *fileQueue) unlockWhileWaiting(call func(leave func()) error) error {
	var once sync.Once
	err := call(func() { once.Do(q.processing.Unlock) })
	left := true
	once.Do(func() { left = false })
	if left {
		q.processing.Lock()
	}
	return err
}

// movedFiles are the files in the directory that files are moved to. The pattern can reach that directory by another path: a
// relative one, or one with links. It is valid for one round, since the directory can be replaced.
type movedFiles struct {
	// directory is nil if there is none. Then no file was moved there.
	directory fs.FileInfo
	// known says for paths of directories whether they are that directory.
	known map[string]bool
}

func newMovedFiles(moveTo string) *movedFiles {
	m := &movedFiles{known: map[string]bool{}}
	if moveTo == "" {
		return m
	}
	if info, err := os.Stat(moveTo); err == nil {
		m.directory = info
	}
	return m
}

// have reports whether a file was moved.
func (m *movedFiles) have(path string) bool {
	if m.directory == nil {
		return false
	}
	parent := filepath.Dir(path)
	same, known := m.known[parent]
	if !known {
		info, err := os.Stat(parent)
		same = err == nil && os.SameFile(info, m.directory)
		m.known[parent] = same
	}
	return same
}
