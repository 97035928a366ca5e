// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// lists holds lists of indices back to back.
type lists struct {
	items []int32
	ends  []int
}

func (l *lists) reset() { l.items, l.ends = l.items[:0], l.ends[:0] }

func (l *lists) len() int { return len(l.ends) }

func (l *lists) add(list []int32) {
	l.items = append(l.items, list...)
	l.ends = append(l.ends, len(l.items))
}

// at returns list i. It is valid until the next add or reset.
func (l *lists) at(i int) []int32 {
	start := 0
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.items[start:l.ends[i]]
}
