// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"slices"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// rowOrder finds the order of the samples of a pprof. A profile of OTLP only has the samples with a value of its type, so each
// profile of a group has a part of that order.
type rowOrder struct {
	// rows has the rows of each profile in the order of its samples, each row once. ends has the end of each profile.
	rows []int32
	ends []int
	// states has an entry for each row.
	states []rowState
	// ascending is true as long as the rows are in the order of all profiles. The first profile numbers the rows.
	ascending bool
	// merged has the rows in the order of all profiles, if they are not ascending.
	merged []int32
}

type rowState struct {
	// profile is the last profile with this row. waiting is the number of profiles that have another row before this one.
	profile, waiting int32
	stack            int32
	merged           bool
}

func (o *rowOrder) begin() {
	o.rows, o.ends, o.states, o.merged = o.rows[:0], o.ends[:0], o.states[:0], o.merged[:0]
	o.ascending = true
}

// longestFirst returns the positions of the profiles of a group, those with the most samples first. Usually one type has all
// samples, such as alloc_space, and has their order.
func longestFirst(profiles []groupedProfile) []int {
	positions := make([]int, len(profiles))
	for i := range positions {
		positions[i] = i
	}
	slices.SortStableFunc(positions, func(a, b int) int {
		return profiles[b].source.Samples().Len() - profiles[a].source.Samples().Len()
	})
	return positions
}

// add adds a row to the current profile.
func (o *rowOrder) add(memory *encodeMemory, row int, stack int32, added bool) (err error) {
	profile := int32(len(o.ends))
	if added {
		if o.states, err = growSlice(memory, o.states, 1); err != nil {
			return err
		}
		o.states = append(o.states, rowState{profile: -1, stack: stack})
	}
	state := &o.states[row]
	if state.profile == profile {
		return nil
	}
	state.profile = profile
	state.waiting++
	start := o.start(len(o.ends))
	if profile > 0 && (added || len(o.rows) > start && int(o.rows[len(o.rows)-1]) > row) {
		o.ascending = false
	}
	if o.rows, err = growSlice(memory, o.rows, 1); err != nil {
		return err
	}
	o.rows = append(o.rows, int32(row))
	return nil
}

// start returns the start of a profile in rows.
func (o *rowOrder) start(profile int) int {
	if profile == 0 {
		return 0
	}
	return o.ends[profile-1]
}

// at returns the row of a sample of the pprof.
func (o *rowOrder) at(sample int) int {
	if o.ascending {
		return sample
	}
	return int(o.merged[sample])
}

// mergeRows merges the orders of the profiles. The next row is one that comes next in all profiles that have it. If there are
// several, it is the one whose stack has the lowest index: a decoder adds the stacks in the order of the samples. If there is none,
// the orders contradict each other, and the lowest stack is next.
func (t *encoding) mergeRows() (err error) {
	o := &t.joining.rowOrder
	if o.ascending {
		return nil
	}
	if o.merged, err = growSlice(&t.memory, o.merged, len(o.states)); err != nil {
		return err
	}
	heads := make([]int, len(o.ends))
	for profile := range heads {
		heads[profile] = o.start(profile)
		o.arrive(heads[profile], profile)
	}
	for range o.states {
		next := o.nextRow(heads)
		o.merged = append(o.merged, next)
		o.states[next].merged = true
		for profile := range heads {
			for heads[profile] < o.ends[profile] && o.states[o.rows[heads[profile]]].merged {
				heads[profile]++
				o.arrive(heads[profile], profile)
			}
		}
	}
	return nil
}

// arrive notes that a row is the next one of a profile.
func (o *rowOrder) arrive(head, profile int) {
	if head < o.ends[profile] {
		o.states[o.rows[head]].waiting--
	}
}

// nextRow returns the row that follows, of those that are the next ones of their profiles.
func (o *rowOrder) nextRow(heads []int) (next int32) {
	next = -1
	var best rowState
	for profile, head := range heads {
		if head == o.ends[profile] {
			continue
		}
		row := o.rows[head]
		state := o.states[row]
		blocked, bestBlocked := state.waiting > 0, best.waiting > 0
		if next < 0 || bestBlocked && !blocked || bestBlocked == blocked && state.stack < best.stack {
			next, best = row, state
		}
	}
	return next
}

// kept returns the memory that the next pprof reuses, in bytes.
func (o *rowOrder) kept() int {
	return scratch.Bytes(o.rows) + scratch.Bytes(o.ends) + scratch.Bytes(o.states) + scratch.Bytes(o.merged)
}
