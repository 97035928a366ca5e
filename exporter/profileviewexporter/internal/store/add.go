// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"fmt"
	"io"
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
	// Arrived is the time of arrival, zero for now.
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
	_, _ = io.WriteString(digest, u.Resource.key+"\x00"+u.Type)
	copy(u.identity[:], digest.Sum(nil))
}

// A service gets a new block when its block has this part of the memory, this number of profiles, or spans this part of the maximum age.
const (
	blockMemoryPart = 16
	blockProfiles   = 1024
	blockAgePart    = 4
)

// maxDuration limits the duration of a profile.
const maxDuration = 24 * time.Hour

// Add adds a pprof, and evicts the oldest profiles until all limits are met. It drops a profile that is too old or already in the store: then
// the result is nil without an error. work counts the memory that Add needs. The error is that of
// work, [ErrTooLarge], or that of an invalid pprof.
func (s *Store) Add(u Upload, work *meter.Meter) (*Profile, error) {
	u.identify()
	now := s.now()
	if age := now.Sub(u.Arrived); !u.Arrived.IsZero() && age > 0 {
		if s.limits.Age > 0 && age > s.limits.Age {
			return nil, nil
		}
		now = now.Add(-age) // This keeps the monotonic clock, so that changes of the time of day do not affect the age.
	}
	if s.has(u.identity) {
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
	k := key{tenant: u.Resource.Tenant, service: u.Resource.Service}
	b := s.block(k, len(u.Pprof), now)
	p, bytes, err := b.add(&u, &parsed, work)
	s.mu.Lock()
	defer s.mu.Unlock()
	b.pending--
	if err != nil {
		s.settle(k, b, bytes)
		return nil, err
	}
	if p.cost+bytes > s.limits.Memory && b.live == 0 {
		s.settle(k, b, bytes)
		return nil, fmt.Errorf("%w: it needs %d bytes of memory, max_memory is %d", ErrTooLarge, p.cost+bytes, s.limits.Memory)
	}
	p.setTimes(&u, now)
	if !s.insert(p) {
		p = nil
	}
	s.settle(k, b, bytes)
	s.expire()
	for front := s.front(); front != nil && s.memory > s.limits.Memory; front = s.front() {
		s.remove(front, ReasonMemory)
	}
	if p != nil && p.evicted {
		return nil, fmt.Errorf("%w: with the symbols that it shares, it needs more than max_memory, %d bytes", ErrTooLarge, s.limits.Memory)
	}
	return p, nil
}

func (s *Store) has(id identity) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, found := s.known[id]
	return found
}

// setTimes sets the times of a profile. A profile without a time gets that of its arrival.
func (p *Profile) setTimes(u *Upload, arrived time.Time) {
	p.Arrived, p.Begin = arrived, u.Time
	if u.Time.IsZero() {
		p.Begin = arrived.Round(0)
	}
	p.End = p.Begin.Add(min(max(u.Duration, 0), maxDuration))
}

// block returns the block for a new profile of a service.
func (s *Store) block(k key, size int, now time.Time) *Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.limits.Memory / blockMemoryPart
	b := s.blocks[k]
	if b == nil || b.added >= blockProfiles || b.bytes > part || int64(size) > part ||
		s.limits.Age > 0 && now.Sub(b.created) > s.limits.Age/blockAgePart {
		b = newBlock(now)
		s.blocks[k] = b
	}
	b.added++
	b.pending++
	return b
}

// insert adds a profile to the lists, unless the store has it already.
func (s *Store) insert(p *Profile) bool {
	if _, found := s.known[p.identity]; found {
		return false
	}
	s.sequence++
	p.Sequence = s.sequence
	k := keyOf(p)
	if all := s.series[k]; len(all) >= s.limits.PerSeries {
		s.remove(all[0], ReasonSeries)
	}
	s.series[k] = append(s.series[k], p)
	s.order = append(s.order, p)
	if p.identity != (identity{}) {
		s.known[p.identity] = struct{}{}
	}
	s.memory += p.cost
	s.profiles++
	p.Block.live++
	return true
}
