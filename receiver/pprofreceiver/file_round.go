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

// round reads what is new.
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
		f.turns.next(func() {
			if stopped {
				return
			}
			if err := f.look(ctx, path); err != nil {
				failed = err
				// The others would fare the same. All come again.
				stopped = stopped || ctx.Err() != nil || outcomeOf(err) == answers[classConsumerUnavailable].reason
			}
		})
	}
	f.turns.files.Wait()
	if !stopped {
		f.forget(present)
	}
	f.health.set(f.cfg.Include, errors.Join(failed, f.state.save(context.WithoutCancel(ctx))))
}

// forget drops what is known of files that are gone.
func (f *files) forget(present map[string]bool) {
	f.state.forget(present)
	for path := range f.settling {
		if !present[path] {
			delete(f.settling, path)
		}
	}
}

// maxWaitingFiles is how many files may wait for their results at a time.
const maxWaitingFiles = 64

// turns lets one file be worked on at a time, and the next one while those before it only wait for their results.
type turns struct {
	turn  sync.Mutex
	files sync.WaitGroup
	// unfinished has room for the files that are worked on or wait.
	unfinished chan struct{}
}

func newTurns() *turns { return &turns{unfinished: make(chan struct{}, maxWaitingFiles)} }

// next waits for the turn and calls work in it. It returns before work does.
func (t *turns) next(work func()) {
	t.unfinished <- struct{}{}
	t.turn.Lock()
	t.files.Go(func() {
		defer func() {
			t.turn.Unlock()
			<-t.unfinished
		}()
		work()
	})
}

// leave calls what may give up the turn while it waits. The turn is had again when it returns.
func (t *turns) leave(ctx context.Context, call func(context.Context) error) error {
	var once sync.Once
	left := false
	err := call(waiting.NewContext(ctx, func() {
		once.Do(func() {
			left = true
			t.turn.Unlock()
		})
	}))
	once.Do(func() {}) // From here on it is too late to leave.
	if left {
		t.turn.Lock()
	}
	return err
}
