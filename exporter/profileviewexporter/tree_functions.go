// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"slices"

	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// functionValues is a function with its values, by side: without the functions that it calls, and with them. A sample counts once, also if the
// function calls itself.
type functionValues struct {
	Name        string
	File        string
	Line        int64
	Self, Total [2]int64
}

// functions returns all functions, the heaviest first: by the values of the first side, or by their differences if there are two sides.
func (t *tree) functions() ([]functionValues, error) {
	const functionsBytes, walkBytes = 128, 8 // for each name and node
	if err := t.work.Need(functionsBytes*int64(len(t.names.Rows)) + walkBytes*int64(len(t.nodes.Rows))); err != nil {
		return nil, err
	}
	t.sum(false)
	all := make([]functionValues, len(t.names.Rows))
	active := make([]int, len(all))
	t.walk(func(i uint32) {
		name := t.nodes.Rows[i].name
		for side, v := range t.values[i] {
			all[name].Self[side] += v.self
			if active[name] == 0 {
				all[name].Total[side] += v.total
			}
		}
		active[name]++
	}, func(i uint32) { active[t.nodes.Rows[i].name]-- })
	for name := range all {
		all[name].Name, all[name].File, all[name].Line = t.names.Rows[name], t.places[name].file, t.places[name].line
	}
	all = slices.DeleteFunc(all[1:], func(f functionValues) bool { return f.Self == [2]int64{} && f.Total == [2]int64{} })
	t.sort(all)
	return all, nil
}

// sort puts the functions with the largest values first, or those with the largest changes of a comparison.
func (t *tree) sort(all []functionValues) {
	weight := func(values [2]int64) int64 {
		if t.profiles[1] == 0 {
			return values[0]
		}
		return max(values[0]-values[1], values[1]-values[0])
	}
	slices.SortFunc(all, func(a, b functionValues) int {
		return cmp.Or(cmp.Compare(weight(b.Self), weight(a.Self)), cmp.Compare(weight(b.Total), weight(a.Total)), cmp.Compare(a.Name, b.Name))
	})
}

// calls returns the callers and the callees of a function, with the totals of the samples that have such a call. A sample counts once for
// each. It must be called after [tree.functions].
func (t *tree) calls(function string) (callers, callees []functionValues) {
	edges := [2]map[uint32]*edge{{}, {}}
	rows := t.nodes.Rows
	// each calls visit with the edges between a node and its parent.
	each := func(i uint32, visit func(edges map[uint32]*edge, other uint32)) {
		parent := rows[i].parent
		if parent != 0 && t.nameOf(i) == function {
			visit(edges[0], rows[parent].name)
		}
		if parent != 0 && t.nameOf(parent) == function {
			visit(edges[1], rows[i].name)
		}
	}
	t.walk(func(i uint32) {
		each(i, func(edges map[uint32]*edge, other uint32) {
			e := edges[other]
			if e == nil {
				e = &edge{}
				edges[other] = e
			}
			for side, v := range t.values[i] {
				if e.active == 0 {
					e.total[side] += v.total
				}
			}
			e.active++
		})
	}, func(i uint32) {
		each(i, func(edges map[uint32]*edge, other uint32) { edges[other].active-- })
	})
	return t.functionsOf(edges[0]), t.functionsOf(edges[1])
}

// edge has the values of a call, and the number of times that it is on the current path.
type edge struct {
	total  [2]int64
	active int
}

// functionsOf returns the other functions of calls.
func (t *tree) functionsOf(calls map[uint32]*edge) []functionValues {
	list := make([]functionValues, 0, len(calls))
	for name, e := range calls {
		list = append(list, functionValues{Name: t.names.Rows[name], Total: e.total})
	}
	t.sort(list)
	return list
}

// children returns the first child of each node, and the next child of the same parent, 0 for none.
func (t *tree) children() (first, next []uint32) {
	rows := t.nodes.Rows
	first, next = make([]uint32, len(rows)), make([]uint32, len(rows))
	for i := len(rows) - 1; i > 0; i-- {
		parent := rows[i].parent
		next[i], first[parent] = first[parent], uint32(i)
	}
	return first, next
}

// walk calls enter and leave for each node but the root. Between them it visits the nodes below it.
func (t *tree) walk(enter, leave func(i uint32)) {
	rows := t.nodes.Rows
	first, next := t.children()
	at := first[0]
	for at != 0 {
		enter(at)
		if first[at] != 0 {
			at = first[at]
			continue
		}
		for leave(at); next[at] == 0; leave(at) {
			if at = rows[at].parent; at == 0 {
				return
			}
		}
		at = next[at]
	}
}

// keepCallSite leaves out all samples that do not begin with these functions, the outermost first.
func (t *tree) keepCallSite(functions []*typesv1.Location) {
	// matched is the number of functions that match, plus 1. It is 0 after one that does not.
	matched := make([]int, len(t.nodes.Rows))
	matched[0] = 1
	for i, n := range t.nodes.Rows {
		if i > 0 {
			before := matched[n.parent]
			switch {
			case before > len(functions):
				matched[i] = before
			case before > 0 && t.nameOf(uint32(i)) == functions[before-1].GetName():
				matched[i] = before + 1
			}
		}
		if matched[i] <= len(functions) {
			t.values[i][0].self, t.values[i][1].self = 0, 0
		}
	}
}
