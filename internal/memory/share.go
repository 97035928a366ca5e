// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import "sync/atomic"

// Share is the part of a budget that one purpose may have, such as a queue. It only counts: the bytes are reserved elsewhere. Fits needs a
// limit. Safe for concurrent use, but others may add bytes between Fits and Use.
type Share struct {
	budget *Budget
	size   int64
	used   atomic.Int64
}

// Limit sets the size of the share in bytes.
func (s *Share) Limit(budget *Budget, bytes int64) { s.budget, s.size = budget, bytes }

// Use adds bytes that are in use, or subtracts them if they are negative. It reports whether more than the share is in use then.
func (s *Share) Use(bytes int64) (exceeded bool) { return s.used.Add(bytes) > s.size }

// Used returns the number of bytes in use.
func (s *Share) Used() int64 { return s.used.Load() }

// Most returns how many bytes may be in use when so many are added. The rest is kept for ordinary requests.
func (s *Share) Most(bytes int64) int64 { return s.budget.fill(s.size, bytes) }

// Fits reports whether so many bytes can be added.
func (s *Share) Fits(bytes int64) bool { return s.Used()+bytes <= s.Most(bytes) }
