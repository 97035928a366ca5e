// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofmerge

import (
	"cmp"
	"math"
	"slices"
)

// Costs are the costs of the parts of a sum for its reader, in bytes of memory.
type Costs struct {
	// Sample is for each sample, Value for each of its values, Label for each of its labels, and Frame for each frame of its
	// stack.
	Sample, Value, Label, Frame int64
	// Line is for each line of each location that is reached, LineByte for each byte of the names that it has.
	Line, LineByte int64
	// Edge is for each pair of neighbours in stacks, EdgeByte for each byte of the names that both have.
	Edge, EdgeByte int64
}

// pricing adds up the costs of stacks. Locations and edges cost once.
type pricing struct {
	*Merger
	costs     *Costs
	total     int64
	locations []bool
	edges     map[edge]struct{}
	// texts are the lengths of the names that locations show, plus one; 0 is for those not asked for yet.
	texts []int64
	// newLocations and newEdges are those of the stack that is being added.
	newLocations []int32
	newEdges     []edge
	// Of each stack: what its samples cost beside the stack, how many they are and have labels, and the sum of the shares
	// that they have in the values of each type.
	samples, labels []int32
	shares          []float64
}

// edge is a callee and its caller.
type edge [2]int32

func newPricing(m *Merger, costs *Costs) *pricing {
	n := m.dict.Len()
	p := &pricing{
		Merger: m, costs: costs,
		locations: make([]bool, n.Locations), texts: make([]int64, n.Locations), edges: map[edge]struct{}{},
		samples: make([]int32, n.Stacks), labels: make([]int32, n.Stacks), shares: make([]float64, n.Stacks),
	}
	weights := p.weights()
	for row := range m.rows.Len() {
		id, labels := m.rows.At(row)
		p.samples[id.Stack]++
		p.labels[id.Stack] += int32(len(labels))
		for i, v := range p.valuesAt(row) {
			p.shares[id.Stack] += math.Abs(float64(v)) * weights[i]
		}
	}
	return p
}

func (p *pricing) valuesAt(row int) []int64 {
	return p.values[row*p.header.stride:][:len(p.header.types)]
}

// weights returns by what a value of each type is multiplied to be a share of all of them.
func (p *pricing) weights() []float64 {
	weights := make([]float64, len(p.header.types))
	for row := range p.rows.Len() {
		for i, v := range p.valuesAt(row) {
			weights[i] += math.Abs(float64(v))
		}
	}
	for i, sum := range weights {
		if weights[i] = 0; sum > 0 {
			weights[i] = 1 / sum
		}
	}
	return weights
}

// stacks returns the stacks that samples have.
func (p *pricing) stacks() []int32 {
	used := make([]int32, 0, len(p.samples))
	for stack, n := range p.samples {
		if n > 0 {
			used = append(used, int32(stack))
		}
	}
	return used
}

// sortByValue puts the stacks of the largest shares first.
func (p *pricing) sortByValue(stacks []int32) {
	slices.SortFunc(stacks, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.shares[b], p.shares[a]), cmp.Compare(a, b))
	})
}

// within adds up the costs of stacks, and tells whether they are within a limit.
func (p *pricing) within(stacks []int32, limit int64) bool {
	for _, stack := range stacks {
		if !p.add(stack, limit) {
			return false
		}
	}
	return true
}

// forget resets the estimate.
func (p *pricing) forget() {
	p.total = 0
	clear(p.locations)
	clear(p.edges)
}

// add adds the costs of a stack, unless they would be above the limit then.
func (p *pricing) add(stack int32, limit int64) bool {
	p.newLocations, p.newEdges = p.newLocations[:0], p.newEdges[:0]
	samples := int64(p.samples[stack])
	cost := samples*(p.costs.Sample+int64(len(p.header.types))*p.costs.Value) + int64(p.labels[stack])*p.costs.Label
	locations := p.dict.StackAt(stack)
	for i, location := range locations {
		cost += int64(p.framesAt(location))*samples*p.costs.Frame + p.firstCost(location)
		if i > 0 {
			cost += p.edgeCost(edge{locations[i-1], location})
		}
		if cost > limit-p.total {
			p.undoStack()
			return false
		}
	}
	if cost > limit-p.total {
		return false
	}
	p.total += cost
	return true
}

// undoStack marks the new locations and edges of the stack as not seen.
func (p *pricing) undoStack() {
	for _, location := range p.newLocations {
		p.locations[location] = false
	}
	for _, e := range p.newEdges {
		delete(p.edges, e)
	}
}

// firstCost is what a location costs where it comes for the first time.
func (p *pricing) firstCost(location int32) int64 {
	if p.locations[location] {
		return 0
	}
	p.locations[location] = true
	p.newLocations = append(p.newLocations, location)
	lines := int64(p.framesAt(location))
	cost := lines*p.costs.Line + p.text(location)*p.costs.LineByte
	if lines > 1 { // an edge between each of them and the next
		cost += (lines-1)*p.costs.Edge + 2*p.text(location)*p.costs.EdgeByte
	}
	return cost
}

// edgeCost is what an edge costs where it comes for the first time.
func (p *pricing) edgeCost(e edge) int64 {
	if p.costs.Edge == 0 {
		return 0
	}
	if _, seen := p.edges[e]; seen {
		return 0
	}
	p.edges[e] = struct{}{}
	p.newEdges = append(p.newEdges, e)
	return p.costs.Edge + (p.text(e[0])+p.text(e[1]))*p.costs.EdgeByte
}

// text is the length of the names that a location shows, as they are cut.
func (p *pricing) text(location int32) int64 {
	if known := p.texts[location]; known > 0 {
		return known - 1
	}
	bytes := int64(0)
	for _, line := range p.dict.LinesAt(location) {
		if line.Function != 0 {
			f := p.dict.FunctionAt(line.Function - 1)
			bytes += p.shown(f.Name) + p.shown(f.SystemName) + p.shown(f.Filename)
		}
	}
	if l, _ := p.dict.LocationAt(location); bytes == 0 && l.Mapping != 0 {
		bytes = p.shown(int32(p.mappings[l.Mapping-1].Filename)) + maxAddressText
	}
	p.texts[location] = bytes + 1
	return bytes
}

// maxAddressText is the length of the address that follows the file of a location without a function.
const maxAddressText = int64(len("+0xffffffffffffffff"))

func (p *pricing) shown(text int32) int64 {
	n := len(p.dict.StringAt(text))
	if p.cut > 0 {
		n = min(n, p.cut)
	}
	return int64(n)
}
