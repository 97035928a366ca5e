// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"slices"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// The functions that stand for what a sum was reduced by.
const (
	// OtherFunction is the only frame of the samples that stand for all whose stacks were left out.
	OtherFunction = "[other stacks]"
	// GapFunction stands for the frames in the middle of a stack.
	GapFunction = "[frames left out]"
)

// View selects a part of a sum.
type View struct {
	// RootFrames and LeafFrames are how many frames of a stack are kept at its root and at its leaf. The location that
	// reaches the number is kept whole.
	RootFrames, LeafFrames int
	// Labels keeps the labels of samples, apart from [BaseLabel], which stays.
	Labels bool
	// StringBytes is the length at which strings are cut.
	StringBytes int
	// MaxCost limits the costs of what is kept. The stacks with the largest values are kept first.
	MaxCost int64
	Costs   Costs
	// Remainder keeps totals: functions take the place of the frames and stacks that are left out.
	Remainder bool
}

// Reduction describes how a sum was reduced.
type Reduction struct {
	// Cost is that of what was kept.
	Cost int64
	// Stacks is the number of stacks, and LeftOut how many of them were left out, the lightest ones.
	Stacks, LeftOut int
	// Deep is the number of stacks that lost frames.
	Deep int
}

// Reduce reduces the sum to a view, without comments. Nothing can be added after it. It takes at most as much memory as the sum
// again, which it reserves.
func (m *Merger) Reduce(v *View) (Reduction, error) {
	n := m.sizes()
	if err := m.grow(n, 0); err != nil {
		return Reduction{}, err
	}
	m.cut = v.StringBytes
	m.header.comments = nil
	for _, pattern := range []*int32{&m.header.dropFrames, &m.header.keepFrames} {
		if len(m.dict.StringAt(*pattern)) > v.StringBytes {
			*pattern = 0 // an incomplete pattern would mean something else
		}
	}
	r := Reduction{}
	if err := m.cutStacks(v, &r, n); err != nil {
		return r, err
	}
	err := m.keepHeaviest(v, &r, n)
	return r, err
}

// rebuild makes the table of samples anew. change returns the stack that a sample has then, or one below 0 for none, and
// whether it keeps its labels; the base label stays always.
func (m *Merger) rebuild(reserved sizes, change func(stack int32) (changed int32, labels bool)) error {
	rows, values := m.rows, m.values
	m.rows, m.values, m.labelsOfRows = dictionary.SampleTable{}, nil, 0
	m.rows.Reset(0)
	width := m.header.stride
	base := []int32{m.baseLabel()}
	for row := range rows.Len() {
		if row%samplesPerStep == 0 {
			if err := m.grow(reserved, 0); err != nil {
				return err
			}
		}
		id, list := rows.At(row)
		stack, labels := change(id.Stack)
		if stack < 0 {
			continue
		}
		if !labels && len(list) > 0 {
			if slices.Contains(list, base[0]) {
				list = base
			} else {
				list = nil
			}
		}
		m.addRow(stack, list, values[row*width:][:width])
	}
	return nil
}

// cutStacks takes out the frames in the middle of deep stacks, and the labels that are not wanted.
func (m *Merger) cutStacks(v *View, r *Reduction, reserved sizes) error {
	stacks := m.dict.Len().Stacks
	cuts := make([]int32, stacks)
	deep := false
	for i := range cuts {
		cuts[i] = int32(i)
		if i%samplesPerStep == samplesPerStep-1 {
			if err := m.grow(reserved, 0); err != nil {
				return err
			}
		}
		if stack := m.dict.StackAt(int32(i)); len(stack) > 0 && m.deeper(stack, v) {
			cuts[i] = m.stack(m.withoutMiddle(stack, v))
			deep = true
			r.Deep++
		}
	}
	if !deep && (v.Labels || m.labelsOfRows == 0) {
		return nil
	}
	return m.rebuild(reserved, func(stack int32) (int32, bool) { return cuts[stack], v.Labels })
}

// framesAt is the number of frames of a location.
func (m *Merger) framesAt(location int32) int { return max(1, len(m.dict.LinesAt(location))) }

func (m *Merger) deeper(stack []int32, v *View) bool {
	frames := 0
	for _, location := range stack {
		if frames += m.framesAt(location); frames > v.RootFrames+v.LeafFrames {
			return true
		}
	}
	return false
}

// withoutMiddle returns the locations of a deep stack that are kept, from leaf to root. It is valid until the next call.
func (m *Merger) withoutMiddle(stack []int32, v *View) []int32 {
	leaf, root := 0, len(stack)
	for frames := 0; leaf < root && frames < v.LeafFrames; leaf++ {
		frames += m.framesAt(stack[leaf])
	}
	for frames := 0; leaf < root && frames < v.RootFrames; {
		root--
		frames += m.framesAt(stack[root])
	}
	kept := m.payload.stack[:0]
	kept = append(kept, stack[:leaf]...)
	if v.Remainder && leaf < root {
		kept = append(kept, m.placeholder(GapFunction))
	}
	kept = append(kept, stack[root:]...)
	m.payload.stack = kept
	return kept
}

// placeholder returns a location with one function of that name.
func (m *Merger) placeholder(name string) int32 {
	text := m.newString([]byte(name))
	function := 1 + m.dict.Function(dictionary.Function{Name: text, SystemName: text})
	return m.newLocation(dictionary.Location{}, []dictionary.Line{{Function: function}}, nil)
}

// keepHeaviest leaves out the lightest stacks until the costs are within their bound.
func (m *Merger) keepHeaviest(v *View, r *Reduction, reserved sizes) error {
	prices := newPricing(m, &v.Costs)
	stacks := prices.stacks()
	r.Stacks = len(stacks)
	if prices.within(stacks, v.MaxCost) {
		r.Cost = prices.total
		return nil
	}
	prices.sortByValue(stacks)
	prices.forget()
	keep := make([]bool, m.dict.Len().Stacks)
	for i, stack := range stacks {
		if i%samplesPerStep == 0 {
			if err := m.grow(reserved, 0); err != nil {
				return err
			}
		}
		if keep[stack] = prices.add(stack, v.MaxCost); !keep[stack] {
			r.LeftOut++
		}
	}
	r.Cost = prices.total
	other := int32(-1)
	if v.Remainder {
		other = m.stack([]int32{m.placeholder(OtherFunction)})
	}
	return m.rebuild(reserved, func(stack int32) (int32, bool) {
		if keep[stack] {
			return stack, v.Labels
		}
		return other, false
	})
}
