// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"container/list"
	"context"
	"os"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
)

// Settings are those of a [Store].
type Settings struct {
	Sources []Source
	// Directory has the indices, MaxBytes of them.
	Directory string
	MaxBytes  int64
	// MaxFileBytes limits a binary, and IndexTimeout the time to make its index.
	MaxFileBytes int64
	IndexTimeout time.Duration
	// FetchTimeout limits the time to find a binary, and to download it.
	FetchTimeout time.Duration
	// Fetches is how many binaries are fetched at a time.
	Fetches int
	// MissingFor is how long a binary that no source has, or one of whose files is unusable, is not looked for. FailedFor is that for one of
	// whose sources failed, or for which there was no memory.
	MissingFor, FailedFor time.Duration
	// Memory returns a meter for the work on one binary, and what releases its memory.
	Memory func(ctx context.Context) (work *meter.Meter, release func())
	// Fetched is told the result of a source, Indexed the time to make an index and what of DWARF was not read, and Cached the size of all
	// indices. They must be safe for concurrent use.
	Fetched func(source string, result Result, err error)
	Indexed func(time.Duration, debuginfo.Stats)
	Cached  func(bytes int64)
}

// Result is that of looking for a binary.
type Result string

// The results.
const (
	Found     Result = "found"
	Missing   Result = "missing"
	Failed    Result = "failed"
	Pending   Result = "pending"
	NoSymbols Result = "no_symbols"
)

// maxEntries limits the binaries in memory, maxQueue those that wait to be fetched.
const (
	maxEntries = 16 << 10
	maxQueue   = 4 << 10
)

// Store has the indices of binaries. An index that is not there is made in the background. Safe for concurrent use.
type Store struct {
	set   Settings
	cache cache

	cancel  context.CancelFunc
	workers sync.WaitGroup
	queue   chan *entry

	mu      sync.Mutex
	entries map[Binary]*entry // by identity
	// used has the entries, those that were used last first.
	used list.List
}

// entry is a binary that is looked for once. The lock of the store guards its fields. One in the queue keeps its binary, which a worker reads.
type entry struct {
	binary Binary
	place  *list.Element // in used
	// result is that without a handle.
	result Result
	handle *Handle
	// until is when a binary that is missing, or one of whose sources failed, is looked for again, as another entry.
	until time.Time
	// done is closed when the result is there.
	done chan struct{}
}

// NewStore returns a store, and starts its workers. They run until [Store.Close], also if ctx ends.
func NewStore(ctx context.Context, set Settings) *Store {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{
		set: set, cache: cache{set.Directory, set.MaxBytes}, cancel: cancel, queue: make(chan *entry, maxQueue), entries: map[Binary]*entry{},
	}
	for range set.Fetches {
		s.workers.Go(func() { s.work(ctx) })
	}
	return s
}

// Close ends the workers, and unmaps the indices that nobody holds.
func (s *Store) Close() {
	s.cancel()
	s.workers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.used.Len() > 0 {
		s.remove(s.used.Back().Value.(*entry))
	}
}

// Acquire returns the index of a binary, which the caller must release, or why there is none. A pending one is ready, or will never be,
// when the channel is closed.
func (s *Store) Acquire(b Binary) (*Handle, Result, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[b.identity()]
	if e != nil && e.handle != nil && e.handle.broken.Load() {
		s.remove(e)
		e = nil
	}
	if e == nil || !e.until.IsZero() && time.Now().After(e.until) {
		e = s.add(b, e)
	}
	if e == nil {
		return nil, Pending, nil
	}
	s.used.MoveToFront(e.place)
	if e.handle == nil {
		return nil, e.result, e.done
	}
	e.handle.holders.Add(1)
	return e.handle, Found, e.done
}

// Renew lets the binary with a build id be looked for again: there is a new file of it.
func (s *Store) Renew(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []Kind{GNU, HTLHash} {
		b := Binary{Kind: kind, ID: id}
		_ = os.Remove(s.cache.path(b))
		if e := s.entries[b]; e != nil {
			s.remove(e)
		}
	}
}

// keep stores the index of an entry, unless that was forgotten while it was made: a new file can be a better one.
func (s *Store) keep(e *entry, file *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[e.binary.identity()] != e {
		return errForgotten
	}
	return rename(file, s.cache.path(e.binary))
}

// add adds an entry, and queues it. It replaces an expired one, whose index serves meanwhile. If the queue is full, a later call does it:
// it returns the expired one if that has an index, or nil.
func (s *Store) add(b Binary, expired *entry) *entry {
	e := &entry{binary: b, result: Pending, done: make(chan struct{})}
	serves := expired != nil && expired.handle != nil
	select {
	case s.queue <- e:
	default:
		if serves {
			return expired
		}
		return nil
	}
	if serves {
		e.handle, expired.handle = expired.handle, nil
	}
	if expired != nil {
		s.remove(expired)
	}
	for s.used.Len() >= maxEntries {
		s.remove(s.used.Back().Value.(*entry))
	}
	e.place = s.used.PushFront(e)
	s.entries[b.identity()] = e
	return e
}

// remove forgets an entry.
func (s *Store) remove(e *entry) {
	s.used.Remove(e.place)
	delete(s.entries, e.binary.identity())
	if e.handle != nil {
		e.handle.Release()
		e.handle = nil
	}
}

func (s *Store) work(ctx context.Context) {
	s.set.Cached(s.cache.evict())
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.queue:
			handle, err := s.get(ctx, e)
			s.finish(e, handle, err)
		}
	}
}

// finish notes the result of an entry that was looked for. An earlier index stays if there is no new one.
func (s *Store) finish(e *entry, handle *Handle, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.binary = e.binary.identity() // The path is not needed any more.
	if handle != nil && s.entries[e.binary] == e {
		e.handle, handle = handle, e.handle
	}
	if handle != nil { // The earlier one, or the entry was forgotten meanwhile.
		handle.Release()
	}
	e.result = resultOf(err)
	switch {
	case err == nil:
	case lasts(err):
		e.until = time.Now().Add(s.set.MissingFor)
	default:
		e.until = time.Now().Add(s.set.FailedFor)
	}
	close(e.done)
}
