// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// askedBytes is the memory of a fetch that waits for an answer: a connection with its goroutines and buffers.
	askedBytes = 32 << 10
	// askedPart is the part of the memory budget that all of them may take. It counts nowhere.
	askedPart = 4
)

// errOverdue ends a fetch.
var errOverdue = errors.New("no answer yet, and too many other fetches wait for theirs")

// askedTargets are the fetches that wait for an answer, the oldest first. Thousands of targets can hang at the same time.
type askedTargets struct {
	mu    sync.Mutex
	limit int
	all   []*asked
}

// asked is a fetch. Before a time it cannot have an answer: the target profiles. answered says that the target has answered the fetch before.
type asked struct {
	until    time.Time
	answered bool
	stop     context.CancelCauseFunc
}

// begin adds a fetch that needs so much time. The caller must call end when it has the answer. Above the limit, a fetch of a target that has
// answered before ends the oldest of those whose targets have not and whose time is over. Others are refused.
func (a *askedTargets) begin(ctx context.Context, length time.Duration, answered bool) (of context.Context, end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if len(a.all) >= a.limit {
		i := slices.IndexFunc(a.all, func(other *asked) bool { return answered && !other.answered && other.until.Before(now) })
		if i < 0 {
			return nil, nil, newRefusal(busy, "%d other fetches wait for their targets", len(a.all))
		}
		a.all[i].stop(errOverdue)
		a.all = slices.Delete(a.all, i, i+1)
	}
	of, stop := context.WithCancelCause(ctx)
	one := &asked{until: now.Add(length), answered: answered, stop: stop}
	a.all = append(a.all, one)
	return of, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if i := slices.Index(a.all, one); i >= 0 {
			a.all = slices.Delete(a.all, i, i+1)
		}
		stop(nil)
	}, nil
}
