// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

// inflater accounts for the memory of one call of [AppendReserving].
type inflater struct {
	// reserve may be nil.
	reserve func(bytes int) error
	// base is where the result begins in its slice.
	base int
	// working is the memory in use without the result.
	working int
	// reserved is the largest number that reserve was called with.
	reserved int
}

// need reserves bytes in addition to the working memory.
func (t *inflater) need(bytes int) error {
	if bytes += t.working; t.reserve == nil || bytes <= t.reserved {
		return nil
	}
	t.reserved = bytes
	return t.reserve(bytes)
}

// grow returns dst with capacity for n more bytes. If it has to be moved, the old slice counts as working memory from then
// on: it is free only after a garbage collection.
func (t *inflater) grow(dst []byte, n int) ([]byte, error) {
	if cap(dst)-len(dst) < n && len(dst) > t.base {
		t.working += cap(dst) - t.base
	}
	if err := t.need(len(dst) - t.base + n); err != nil {
		return dst, err
	}
	return grow(dst, n), nil
}

func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	moved := make([]byte, len(dst), len(dst)+n)
	copy(moved, dst)
	return moved
}
