// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// Upload is a pprof that is added to the store.
type Upload struct {
	Resource *Resource
	// Type is the profile type.
	Type string
	// ID is the profile ID, zero for none. The store drops a profile whose ID it has already.
	ID [16]byte
	// Time is the begin of the profile, zero if it is not known.
	Time     time.Time
	Duration time.Duration
	// Arrived is the time of arrival of a profile of an earlier run, zero for now. These are added after each other, the newest first, and are
	// older than all others.
	Arrived time.Time
	// Pprof is the uncompressed pprof. The store does not keep it.
	Pprof []byte

	identity identity
}

// identity is a hash of what makes two uploads equal: the resource, the type and the profile ID. It is zero for profiles without an ID.
type identity [sha256.Size / 2]byte

func (u *Upload) identify() {
	if u.ID == ([16]byte{}) {
		return
	}
	digest := sha256.New()
	_, _ = digest.Write(u.ID[:])
	_, _ = io.WriteString(digest, u.Resource.Key+"\x00"+u.Type)
	copy(u.identity[:], digest.Sum(nil))
}

// A service gets a new block when its block has this part of the memory, this number of profiles, or spans this part of the maximum age.
const (
	blockMemoryPart = 16
	blockProfiles   = 1024
	blockAgePart    = 4
)

// restored returns whether the profile is of an earlier run.
func (u *Upload) restored() bool { return !u.Arrived.IsZero() }

// ErrFull is the error for a profile of an earlier run for which there is no memory, and for all that are older.
var ErrFull = errors.New("the store is full")

// maxDuration limits the duration of a profile.
const maxDuration = 24 * time.Hour

// Add adds a pprof, and evicts the oldest profiles until all limits are met. It drops a profile that is too old or already in the store: then
// the result is nil without an error. work counts the memory that Add needs. The error is that of
// work, [ErrTooLarge], [ErrFull], or that of an invalid pprof.
func (s *Store) Add(u Upload, work *meter.Meter) (*Profile, error) {
	u.identify()
	now := time.Now()
	if age := now.Sub(u.Arrived); u.restored() && age > 0 {
		if s.limits.Age > 0 && age > s.limits.Age {
			return nil, nil
		}
		now = now.Add(-age) // This keeps the monotonic clock, so that changes of the time of day do not affect the age.
	}
	s.mu.RLock()
	_, isKnown := s.known[u.identity]
	isFull := s.full && u.restored()
	s.mu.RUnlock()
	switch {
	case isFull:
		return nil, ErrFull
	case isKnown:
		return nil, nil
	}
	limits := pprofwire.NoLimits()
	limits.Memory = work
	var parsed pprofwire.Profile
	if err := parsed.Read(u.Pprof, limits); err != nil {
		return nil, err
	}
	if err := work.Use(parsed.Kept()); err != nil {
		return nil, err
	}
	b := s.block(blockKey{u.Resource.Tenant, u.Resource.Service, u.restored()}, len(u.Pprof), now)
	p, bytes, err := b.add(&u, &parsed, s.limits.Memory, work)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.added(b, bytes)
		return nil, err
	}
	p.Arrived, p.Begin = now, u.Time
	if u.Time.IsZero() {
		p.Begin = now.Round(0)
	}
	p.End = p.Begin.Add(min(max(u.Duration, 0), maxDuration))
	if !s.insert(p, u.restored()) {
		p = nil
	}
	s.added(b, bytes)
	s.expire()
	for front := s.front(); front != nil && s.memory > s.limits.Memory; front = s.front() {
		s.remove(front, ReasonMemory)
	}
	switch {
	case p == nil || !p.evicted:
		return p, nil
	case u.restored():
		return nil, ErrFull
	default:
		return nil, fmt.Errorf("%w: with the symbols that it shares, it needs more than max_memory, %d bytes", ErrTooLarge, s.limits.Memory)
	}
}

// added settles a block after the attempt to add a profile. Until then, the block stays, even if it has no other profile.
func (s *Store) added(b *Block, bytes int64) {
	b.pending--
	s.settle(b, bytes)
}

// block returns the block for another profile of a service.
func (s *Store) block(k blockKey, size int, now time.Time) *Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.limits.Memory / blockMemoryPart
	b := s.blocks[k]
	if b == nil || b.added >= blockProfiles || b.bytes > part || int64(size) > part ||
		s.limits.Age > 0 && now.Sub(b.created).Abs() > s.limits.Age/blockAgePart {
		b = newBlock(k, now)
		s.blocks[k] = b
	}
	b.added++
	b.pending++
	return b
}

// insert adds a profile to the lists, unless the store has it already, or it is of an earlier run and its series is full.
func (s *Store) insert(p *Profile, restored bool) bool {
	if _, found := s.known[p.identity]; found {
		return false
	}
	k := keyOf(p)
	all := s.series[k]
	isFull := len(all) >= s.limits.PerSeries
	switch {
	case restored && isFull:
		return false
	case restored:
		s.oldest--
		p.Sequence = s.oldest
		s.series[k] = slices.Insert(all, 0, p)
		p.place = s.order.PushFront(p)
	default:
		if isFull {
			s.remove(all[0], ReasonSeries)
		}
		s.newest++
		p.Sequence = s.newest
		s.series[k] = append(s.series[k], p)
		p.place = s.order.PushBack(p)
	}
	if p.identity != (identity{}) {
		s.known[p.identity] = struct{}{}
	}
	s.memory += p.cost
	p.Block.live++
	return true
}
