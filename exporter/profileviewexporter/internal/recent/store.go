// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package recent holds the most recent profiles in memory, within limits.
package recent // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/selector"
)

// Reason is why an entry was evicted.
type Reason string

// The reasons.
const (
	ReasonAge    Reason = "age"
	ReasonMemory Reason = "memory"
	ReasonSeries Reason = "series"
)

// Limits bound a store.
type Limits struct {
	// Memory is in bytes, of the compressed profiles with what surrounds them.
	Memory int64
	// Age is counted from when a profile came. 0 is for ever.
	Age time.Duration
	// PerSeries is the number of profiles of one service and type.
	PerSeries int
}

type key struct{ tenant, service, profileType string }

func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.tenant, other.tenant), strings.Compare(k.service, other.service), strings.Compare(k.profileType, other.profileType))
}

// Watcher is told about each entry that comes and goes. It is called while the store is locked, and must not call that.
type Watcher interface {
	Added(e *Entry)
	Removed(e *Entry)
}

// Store holds entries. Safe for concurrent use.
type Store struct {
	limits  Limits
	evicted func(Reason)
	watcher Watcher
	now     func() time.Time

	mu       sync.RWMutex
	series   map[key][]*Entry // in the order of their arrival
	order    *list.List       // of all entries, in the order of their arrival
	known    map[identity]struct{}
	memory   int64
	sequence uint64
}

// New returns a store that calls evicted for each entry that goes.
func New(limits Limits, evicted func(Reason)) *Store {
	return &Store{limits: limits, evicted: evicted, now: time.Now, series: map[key][]*Entry{}, order: list.New(), known: map[identity]struct{}{}}
}

// Watch names who is told about entries. It is to be called before the first one comes.
func (s *Store) Watch(w Watcher) { s.watcher = w }

// Add adds an entry, and evicts the oldest ones until all limits are kept. An entry whose profile is held already is left
// out: equal uploads count once. It is false for an entry that alone is over the limit.
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

// Restore adds an entry of an earlier run that came at a time, as Add does. The watcher is not told that it was added. It is
// false for an entry that is not held then: one that is over the limit alone, too old, or held already.
func (s *Store) Restore(e *Entry, arrived time.Time) bool {
	if !s.measure(e) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// By the clock that does not jump with the time of day.
	now := s.now()
	age := max(0, now.Sub(arrived.Round(0)))
	return (s.limits.Age == 0 || age <= s.limits.Age) && s.insert(e, now.Add(-age))
}

// Sequence returns that of the newest entry.
func (s *Store) Sequence() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sequence
}

// measure fills in what an entry costs, and tells whether that is below the limit.
func (s *Store) measure(e *Entry) bool {
	e.identity = identityOf(e)
	e.cost = e.pack()
	return e.cost <= s.limits.Memory
}

// insert adds an entry, unless its profile is held already.
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

// Expire evicts what is too old.
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

// remove removes an entry. It is the first of its series, as all orders are those of arrival.
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

// Held tells how much there is.
func (s *Store) Held() (profiles, memory int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(s.order.Len()), s.memory
}

// Query says which entries are wanted.
type Query struct {
	Tenant, Service string
	// Type is the profile type; empty means all profiles of CPU time.
	Type string
	// From and Until bound the time of profiles. Window is counted back from the end of the newest one, where those that
	// are of a time far from their arrival count by that.
	From, Until Bound
	Window      time.Duration
	// After is a sequence: only later entries are wanted.
	After uint64
	// Attributes are those that are wanted of resources.
	Attributes []selector.Selector
}

// Bound is one end of a time.
type Bound struct {
	// At is zero for no bound.
	At time.Time
	// Relative is for a time that was counted back from now. Entries that are of a time far from their arrival count by
	// that then.
	Relative bool
}

// admits tells whether an entry ends not before from and begins before until.
func admits(from, until Bound, e *Entry) bool {
	_, end := e.span(from.Relative)
	begin, _ := e.span(until.Relative)
	return (from.At.IsZero() || !end.Before(from.At)) && (until.At.IsZero() || begin.Before(until.At))
}

// Bounded tells whether the query says which time is wanted.
func (q *Query) Bounded() bool { return !q.From.At.IsZero() || !q.Until.At.IsZero() || q.Window > 0 }

// Select returns the entries, in the order of their arrival. Known tells whether there is any of the service and type.
func (s *Store) Select(q Query) (entries []*Entry, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*Entry
	if q.Type != "" {
		all = s.series[key{tenant: q.Tenant, service: q.Service, profileType: q.Type}]
	} else {
		for k, some := range s.series {
			if k.tenant == q.Tenant && k.service == q.Service {
				all = append(all, some...)
			}
		}
		all = slices.DeleteFunc(all, func(e *Entry) bool { return !e.CPU })
		slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	}
	for _, e := range all {
		if q.wants(e) {
			entries = append(entries, e)
		}
	}
	if q.Window > 0 && len(entries) > 0 {
		newest := slices.MaxFunc(entries, func(a, b *Entry) int { return a.seenEnd.Compare(b.seenEnd) }).seenEnd
		entries = slices.DeleteFunc(entries, func(e *Entry) bool { return !e.seenEnd.After(newest.Add(-q.Window)) })
	}
	return entries, len(all) > 0
}

// Newest returns the entries of a tenant and time, the newest first, at most limit of them.
func (s *Store) Newest(tenant string, from, until Bound, limit int) (entries []*Entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for element := s.order.Back(); element != nil && len(entries) < limit; element = element.Prev() {
		if e := element.Value.(*Entry); e.Tenant == tenant && admits(from, until, e) {
			entries = append(entries, e)
		}
	}
	return entries
}

func (q *Query) wants(e *Entry) bool {
	return e.Sequence > q.After && admits(q.From, q.Until, e) && e.Has(q.Attributes)
}
