// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

// taker asks before memory is taken.
type taker struct {
	// reserve may be nil.
	reserve func(bytes int) error
	// base is where the result begins in its slice.
	base int
	// held is taken beside the space of the result.
	held int
	most int
}

// ask asks for bytes beside what is held.
func (t *taker) ask(bytes int) error {
	if bytes += t.held; t.reserve == nil || bytes <= t.most {
		return nil
	}
	t.most = bytes
	return t.reserve(bytes)
}

// grow returns dst with space for n more bytes behind its length, moved at most once. What it is moved from stays until garbage
// is collected.
func (t *taker) grow(dst []byte, n int) ([]byte, error) {
	if cap(dst)-len(dst) < n && len(dst) > t.base {
		t.held += cap(dst) - t.base
	}
	if err := t.ask(len(dst) - t.base + n); err != nil {
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
