// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/otelpprof/otelpprof/internal/waiting"
)

// round reads the files that are new.
func (f *files) round(ctx context.Context) {
	paths, err := doublestar.FilepathGlob(f.cfg.Include)
	if err != nil {
		f.health.set(f.cfg.Include, err)
		return
	}
	present := make(map[string]bool, len(paths))
	var failed error
	stopped := false
	for _, path := range paths {
		if f.isMoved(path) {
			continue
		}
		present[path] = true
		f.queue.run(func() {
			if stopped {
				return
			}
			if err := f.process(ctx, path); err != nil {
				failed = err
				// The others would fail for the same reason. The next round tries all of them again.
				stopped = stopped || ctx.Err() != nil || outcomeOf(err) == answers[classConsumerUnavailable].reason
			}
		})
	}
	f.queue.files.Wait()
	if !stopped {
		f.forget(present)
	}
	f.health.set(f.cfg.Include, errors.Join(failed, f.state.save(context.WithoutCancel(ctx))))
}

// forget drops the state of files that do not exist any more.
func (f *files) forget(present map[string]bool) {
	f.state.forget(present)
	for path := range f.settling {
		if !present[path] {
			delete(f.settling, path)
		}
	}
}

// maxWaitingFiles is how many files may be processed or wait for their results at a time.
const maxWaitingFiles = 64

// fileQueue processes one file at a time. While a file only waits for its result, the next one is processed.
type fileQueue struct {
	processing sync.Mutex
	files      sync.WaitGroup
	// unfinished limits the files that are processed or wait.
	unfinished chan struct{}
}

func newFileQueue() *fileQueue { return &fileQueue{unfinished: make(chan struct{}, maxWaitingFiles)} }

// run waits until no other file is processed, and starts process. It does not wait for its end.
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

// unlockWhileWaiting makes a call within process. As soon as the call only waits for its result, the next file may be
// processed. When unlockWhileWaiting returns, no other file is processed.
func (q *fileQueue) unlockWhileWaiting(ctx context.Context, call func(context.Context) error) error {
	var once sync.Once
	unlocked := false
	err := call(waiting.NewContext(ctx, func() {
		once.Do(func() {
			unlocked = true
			q.processing.Unlock()
		})
	}))
	once.Do(func() {}) // From here on nothing unlocks it.
	if unlocked {
		q.processing.Lock()
	}
	return err
}
