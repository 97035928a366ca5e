// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package recent keeps the most recent profiles in memory, within limits.
package recent // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"

import (
	"cmp"
	"container/list"
	"strings"
	"sync"
	"time"
)

// Reason says why an entry was evicted.
type Reason string

// The reasons.
const (
	ReasonAge    Reason = "age"
	ReasonMemory Reason = "memory"
	ReasonSeries Reason = "series"
)

// Limits are the limits of a store.
type Limits struct {
	// Memory limits the compressed profiles with their attributes and fixed costs, in bytes.
	Memory int64
	// Age limits the time since the arrival of a profile. 0 means without a limit.
	Age time.Duration
	// PerSeries limits the number of profiles of one service and type.
	PerSeries int
}

type key struct{ tenant, service, profileType string }

func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.tenant, other.tenant), strings.Compare(k.service, other.service), strings.Compare(k.profileType, other.profileType))
}

// Watcher is called for each entry that is added or removed. The store is locked during the call, so the watcher must not call
// the store.
type Watcher interface {
	Added(e *Entry)
	Removed(e *Entry)
}

// Store has the entries. It is safe for concurrent use.
type Store struct {
	limits  Limits
	evicted func(Reason)
	watcher Watcher
	now     func() time.Time

	mu       sync.RWMutex
	series   map[key][]*Entry // in order of arrival
	order    *list.List       // of all entries, in order of arrival
	known    map[identity]struct{}
	memory   int64
	sequence uint64
}

// New returns a store. It calls evicted for each entry that it evicts.
func New(limits Limits, evicted func(Reason)) *Store {
	return &Store{limits: limits, evicted: evicted, now: time.Now, series: map[key][]*Entry{}, order: list.New(), known: map[identity]struct{}{}}
}

// Watch sets the watcher. It must be called before the first entry is added.
func (s *Store) Watch(w Watcher) { s.watcher = w }

// Add adds an entry, and evicts the oldest entries until all limits are met. It drops an entry whose profile is already in the
// store, since equal uploads count once. It returns false if the entry alone exceeds the memory limit.
func (s *Store) Add(e *Entry) bool {
	if !s.measure(e) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if s.insert(e, s.now()) && s.watcher != nil {
		s.watcher.Added(e)
	}
	return true
}

// Restore adds an entry of an earlier run with its time of arrival, like Add, but does not call the watcher for it. It returns
// false if the store does not contain the entry afterwards: it is too large, too old, or already in the store.
func (s *Store) Restore(e *Entry, arrived time.Time) bool {
	if !s.measure(e) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The time has a monotonic clock reading, so that changes of the time of day do not affect the age.
	now := s.now()
	age := max(0, now.Sub(arrived.Round(0)))
	return (s.limits.Age == 0 || age <= s.limits.Age) && s.insert(e, now.Add(-age))
}

// Sequence returns the sequence of the newest entry.
func (s *Store) Sequence() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sequence
}

// measure sets the cost of an entry, and returns whether it is within the memory limit.
func (s *Store) measure(e *Entry) bool {
	e.identity = identityOf(e)
	e.cost = e.pack()
	return e.cost <= s.limits.Memory
}

// insert adds an entry, unless the store has its profile already.
func (s *Store) insert(e *Entry, arrived time.Time) bool {
	if _, held := s.known[e.identity]; held {
		return false
	}
	e.arrive(arrived)
	s.sequence++
	e.Sequence = s.sequence
	for s.memory+e.cost > s.limits.Memory {
		s.remove(s.order.Front().Value.(*Entry), ReasonMemory)
	}
	if all := s.series[e.key()]; len(all) >= s.limits.PerSeries {
		s.remove(all[0], ReasonSeries)
	}
	e.place = s.order.PushBack(e)
	s.series[e.key()] = append(s.series[e.key()], e)
	s.memory += e.cost
	if e.identity != (identity{}) {
		s.known[e.identity] = struct{}{}
	}
	return true
}

// Expire evicts entries that are too old.
func (s *Store) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
}

func (s *Store) expire() {
	if s.limits.Age == 0 {
		return
	}
	oldest := s.now().Add(-s.limits.Age)
	for front := s.order.Front(); front != nil && front.Value.(*Entry).arrived.Before(oldest); front = s.order.Front() {
		s.remove(front.Value.(*Entry), ReasonAge)
	}
}

// remove removes an entry. The entry is the first of its series, since all lists are in order of arrival.
func (s *Store) remove(e *Entry, reason Reason) {
	s.order.Remove(e.place)
	s.memory -= e.cost
	delete(s.known, e.identity)
	if rest := s.series[e.key()][1:]; len(rest) == 0 {
		delete(s.series, e.key())
	} else {
		s.series[e.key()][0] = nil
		s.series[e.key()] = rest
	}
	if s.watcher != nil {
		s.watcher.Removed(e)
	}
	s.evicted(reason)
}

// Held returns the number of entries and their bytes.
func (s *Store) Held() (profiles, memory int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(s.order.Len()), s.memory
}
