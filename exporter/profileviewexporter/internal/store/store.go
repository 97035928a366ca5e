// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the most recent profiles in memory, within limits. The profiles of a service share their symbols.
package store // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// ErrTooLarge is the error for a profile that alone exceeds the memory limit.
var ErrTooLarge = errors.New("the profile is too large")

// Reason says why a profile was evicted.
type Reason string

// The reasons.
const (
	ReasonAge    Reason = "age"
	ReasonMemory Reason = "memory"
	ReasonSeries Reason = "series"
)

// Limits are the limits of a store.
type Limits struct {
	// Memory limits the memory of the profiles and their symbols, in bytes.
	Memory int64
	// Age limits the time since the arrival of a profile. 0 means without a limit.
	Age time.Duration
	// PerSeries limits the number of profiles of one service and type.
	PerSeries int
}

// key identifies the profiles of one service and kind.
type key struct{ tenant, service, kind string }

func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.tenant, other.tenant), strings.Compare(k.service, other.service), strings.Compare(k.kind, other.kind))
}

func keyOf(p *Profile) key { return key{p.Resource.Tenant, p.Resource.Service, p.Kind} }

// Store has the profiles. It is safe for concurrent use.
type Store struct {
	limits  Limits
	evicted func(Reason)

	mu     sync.RWMutex
	blocks map[blockKey]*Block // to which profiles are added
	series map[key][]*Profile
	// order has all profiles in order of arrival, and a series has its own.
	order  list.List
	known  map[identity]struct{}
	memory int64
	// full is set once a profile of an earlier run was evicted for memory: no older one is restored then.
	full bool
	// newest and oldest are the sequences of the newest profile of this run and the oldest that was restored.
	newest, oldest uint64
}

// FirstSequence is above the sequences of all profiles of earlier runs.
const FirstSequence = 1 << 32

// New returns a store. It calls evicted for each profile that it evicts.
func New(limits Limits, evicted func(Reason)) *Store {
	return &Store{
		limits: limits, evicted: evicted,
		blocks: map[blockKey]*Block{}, series: map[key][]*Profile{}, known: map[identity]struct{}{},
		newest: FirstSequence, oldest: FirstSequence,
	}
}

// Held returns the number of profiles and their memory in bytes.
func (s *Store) Held() (profiles, memory int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(s.order.Len()), s.memory
}

// Expire evicts profiles that are too old.
func (s *Store) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
}

func (s *Store) expire() {
	if s.limits.Age == 0 {
		return
	}
	oldest := time.Now().Add(-s.limits.Age)
	for front := s.front(); front != nil && front.Arrived.Before(oldest); front = s.front() {
		s.remove(front, ReasonAge)
	}
}

// front returns the oldest profile, or nil.
func (s *Store) front() *Profile {
	front := s.order.Front()
	if front == nil {
		return nil
	}
	return front.Value.(*Profile)
}

// remove removes a profile, which is the first of its series.
func (s *Store) remove(p *Profile, reason Reason) {
	k := keyOf(p)
	if rest := s.series[k][1:]; len(rest) == 0 {
		delete(s.series, k)
	} else {
		s.series[k][0] = nil
		s.series[k] = rest
	}
	p.evicted = true
	s.full = s.full || reason == ReasonMemory && p.Sequence < FirstSequence
	delete(s.known, p.identity)
	s.memory -= p.cost
	p.Block.live--
	s.settle(p.Block, p.Block.bytes)
	s.order.Remove(p.place)
	s.evicted(reason)
}

// settle counts the memory of a block, which only grows, and drops the block if it has no profile.
func (s *Store) settle(b *Block, bytes int64) {
	bytes = max(bytes, b.bytes) // Another profile may have been added, and settled, meanwhile.
	if b.live == 0 && b.pending == 0 {
		bytes = 0
		if s.blocks[b.key] == b {
			delete(s.blocks, b.key)
		}
	}
	s.memory += bytes - b.bytes
	b.bytes = bytes
}

// blockKey identifies the blocks of a service. Profiles of an earlier run have blocks of their own, because these are evicted first.
type blockKey struct {
	tenant, service string
	restored        bool
}

// Block has the symbols of some profiles of one service. Symbols are not removed one by one: the block is dropped with its last profile.
// So that this happens soon, a service gets a new block from time to time.
type Block struct {
	key     blockKey
	created time.Time
	// published is the table, which readers may use.
	published atomic.Pointer[Table]

	// adding is locked while a pprof is added.
	adding    sync.Mutex
	table     *Table
	heads     map[string]*Head
	resources map[string]*Resource
	// sharedBytes is the memory of both maps.
	sharedBytes int64

	// The lock of the store guards the fields below. added counts all profiles, live those in the store, and pending those that are
	// being added. bytes is the memory of the block that the store counts.
	added, live, pending int
	bytes                int64
}

// blockBytes is the memory of a block without its symbols.
const blockBytes = 4 << 10

func newBlock(k blockKey, now time.Time) *Block {
	b := &Block{key: k, created: now, table: NewTable(), heads: map[string]*Head{}, resources: map[string]*Resource{}}
	b.publish()
	return b
}

// Table returns the symbols of all profiles that are in the store now. It does not change.
func (b *Block) Table() *Table { return b.published.Load() }

// publish makes a copy of the table for readers. The rows of both are the same.
func (b *Block) publish() {
	published := *b.table
	b.published.Store(&published)
}

// add adds a pprof, and returns the memory of the block. After an error, the block is as it was. One that can never fit into limit is an error:
// nothing is evicted for it.
func (b *Block) add(u *Upload, parsed *pprofwire.Profile, limit int64, work *meter.Meter) (p *Profile, bytes int64, err error) {
	b.adding.Lock()
	defer b.adding.Unlock()
	before := *b.table
	defer func() {
		if err != nil {
			b.table.undo(&before)
		}
		bytes = blockBytes + b.table.bytes() + b.sharedBytes
	}()
	if err := work.Use(headMemory(parsed, u.Type)); err != nil {
		return nil, 0, err
	}
	samples, err := b.table.add(parsed, work)
	if err != nil {
		return nil, 0, err
	}
	head := headOf(parsed, u.Type)
	headKey, resourceKey := head.key(), u.Resource.Key
	p = &Profile{Block: b, Samples: samples, identity: u.identity, cost: profileBytes + samples.bytes()}
	shared := b.sharedBytes
	p.Head = share(b.heads, headKey, head, &shared)
	p.Resource = share(b.resources, resourceKey, u.Resource, &shared)
	if needed := p.cost + blockBytes + b.table.bytes() + shared; needed > limit {
		return nil, 0, fmt.Errorf("%w: it needs %d bytes of memory, max_memory is %d", ErrTooLarge, needed, limit)
	}
	b.publish()
	b.heads[headKey], b.resources[resourceKey], b.sharedBytes = p.Head, p.Resource, shared
	return p, 0, nil
}

// share returns the value that is known and equal to one. Otherwise it returns one, and adds its memory to bytes.
func share[T interface{ bytes() int64 }](known map[string]T, key string, one T, bytes *int64) T {
	if same, found := known[key]; found {
		return same
	}
	*bytes += one.bytes()
	return one
}
