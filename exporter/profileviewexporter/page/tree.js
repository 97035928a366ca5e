// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Trees of stacks in typed arrays: a node is an index. The nodes of a level, and the children of a node, have consecutive indexes.

import { hash } from './names.js'

export class Tree {
  constructor (names, size, compared) {
    Object.assign(this, { names, compared, size: 0 })
    for (const field of ['name', 'parent', 'depth', 'childFrom', 'childTo']) this[field] = new Int32Array(size)
    // base and baseSelf are the values of the baseline. They are 0 without one.
    for (const field of ['value', 'self', 'base', 'baseSelf']) this[field] = new Float64Array(size)
    // levels has the first and the last but one index of the nodes of a depth. Callers of a function in focus have negative depths.
    this.levels = new Map()
  }

  // add appends a node. Its siblings must be the nodes before it.
  add (name, parent, depth, value, self, base, baseSelf) {
    const node = this.size++
    this.name[node] = name
    this.parent[node] = parent
    this.depth[node] = depth
    this.value[node] = value
    this.self[node] = self
    this.base[node] = base
    this.baseSelf[node] = baseSelf
    if (!this.levels.has(depth)) this.levels.set(depth, [node, node])
    this.levels.get(depth)[1] = node + 1
    if (parent < 0 || (parent === 0 && depth < 0)) return node
    if (this.childTo[parent] === 0) this.childFrom[parent] = node
    this.childTo[parent] = node + 1
    return node
  }

  nameOf (node) {
    return this.names[this.name[node]]
  }

  // isRoot returns whether a node stands for all stacks, and is not a function in focus.
  isRoot (node) {
    return node === 0 && this.name[node] === 0
  }
}

// decode reads the flame graph of Pyroscope's API: of four numbers for each node, or of seven if it is a difference.
export function decode ({ names = ['total'], levels = [{ values: [0, 0, 0, 0, 0, 0, 0] }] }, compared = false) {
  const stride = compared ? 7 : 4
  const size = levels.reduce((sum, level) => sum + (level.values?.length ?? 0) / stride, 0)
  const tree = new Tree(names, size, compared)
  const end = new Float64Array(size)
  levels.forEach(({ values = [] }, depth) => {
    let [parent, last] = tree.levels.get(depth - 1) ?? [-1, 0]
    let x = 0
    for (let i = 0; i + stride <= values.length; i += stride) {
      const [left, leftTotal, leftSelf] = [+values[i], +values[i + 1], +values[i + 2]]
      const [right, rightTotal, rightSelf] = compared ? [+values[i + 3], +values[i + 4], +values[i + 5]] : [0, 0, 0]
      x += left + right
      while (parent >= 0 && parent < last - 1 && end[parent] <= x) parent++
      const node = compared
        ? tree.add(+values[i + 6], parent, depth, rightTotal, rightSelf, leftTotal, leftSelf)
        : tree.add(+values[i + 3], parent, depth, leftTotal, leftSelf, 0, 0)
      end[node] = x += leftTotal + rightTotal
    }
  })
  return tree
}

// layout returns where each node begins and how wide it is. A difference by share gives both sides the same width.
export function layout (tree, byShare = false) {
  const weightOf = whole => byShare && whole ? 1 / whole : 1
  const weights = { value: weightOf(tree.value[0]), base: weightOf(tree.base[0]) }
  const start = new Float64Array(tree.size)
  const width = new Float64Array(tree.size)
  const next = new Float64Array(tree.size)
  for (let node = 0; node < tree.size; node++) {
    width[node] = tree.value[node] * weights.value + tree.base[node] * weights.base
    if (node === 0) continue
    const parent = tree.parent[node]
    // The callers of a function in focus begin on its left again.
    if (node === tree.levels.get(-1)?.[0]) next[0] = 0
    start[node] = next[node] = next[parent]
    next[parent] += width[node]
  }
  return { start, width, weights }
}

// Trees that are made from others grow as objects first.
const grown = name => ({ name, value: 0, self: 0, base: 0, baseSelf: 0, children: new Map() })

function child (parent, name) {
  let found = parent.children.get(name)
  if (!found) parent.children.set(name, found = grown(name))
  return found
}

function add (to, tree, node, fields) {
  for (const field of fields) to[field] += tree[field][node]
}

const totals = ['value', 'base']
const selfs = ['self', 'baseSelf']

// flat returns grown nodes as a Tree: the root with what it calls, then its callers, which have negative depths.
function flat (tree, root, callers) {
  const rows = [[root, -1, 0]]
  for (const [top, step] of [[root, 1], [callers, -1]]) {
    let level = [[top, 0]]
    for (let depth = step; level.length > 0; depth += step) {
      level = level.flatMap(([parent, index]) => [...parent.children.values()].map(n => [n, rows.push([n, index, depth]) - 1]))
    }
  }
  const out = new Tree(tree.names, rows.length, tree.compared)
  for (const [n, parent, depth] of rows) out.add(n.name, parent, depth, n.value, n.self, n.base, n.baseSelf)
  return out
}

// collapsed returns a tree in which calls of a function to itself are one node.
export function collapsed (tree) {
  const target = []
  for (let node = 0; node < tree.size; node++) {
    const above = target[tree.parent[node]]
    const same = above && above.name === tree.name[node]
    target[node] = same ? above : above ? child(above, tree.name[node]) : grown(tree.name[node])
    add(target[node], tree, node, same ? selfs : [...totals, ...selfs])
  }
  return flat(tree, target[0], grown())
}

// focused returns the tree of one function: what it calls below it, and its callers above it, from all places where it is called.
// Calls of the function to itself count once. It has the nearest 500 callers of each place, since stacks can be very deep.
export function focused (tree, function_) {
  const name = tree.names.indexOf(function_)
  const root = grown(Math.max(name, 0))
  const callers = grown()
  const target = []
  for (let node = 0; node < tree.size; node++) {
    const above = target[tree.parent[node]]
    if (!above && tree.name[node] !== name) continue
    target[node] = above ? child(above, tree.name[node]) : root
    add(target[node], tree, node, [...totals, ...selfs])
    let caller = callers
    for (let n = 0, up = above ? 0 : tree.parent[node]; up > 0 && n < 500; up = tree.parent[up], n++) {
      caller = child(caller, tree.name[up])
      add(caller, tree, node, totals)
    }
  }
  return flat(tree, root, callers)
}

// finder returns a function that says whether a name matches a search. A text between slashes is a regular expression.
export function finder (text) {
  const lower = text.toLowerCase()
  try {
    const [, expression] = /^\/(.+)\/$/.exec(text) ?? []
    const wanted = expression && new RegExp(expression, 'i')
    if (wanted) return name => wanted.test(name)
  } catch {} // an expression that is not complete yet is searched as it is
  return name => name.toLowerCase().includes(lower)
}

// matched returns which names match, the number of nodes before each that do, and the total of the nodes that match, each stack once.
export function matched (tree, find) {
  const names = tree.names.map(find)
  const inside = new Uint8Array(tree.size)
  const marks = new Int32Array(tree.size + 1)
  const sum = { value: 0, base: 0 }
  for (let node = 0; node < tree.size; node++) {
    marks[node + 1] = marks[node] + names[tree.name[node]]
    if (tree.depth[node] < 0) continue // a caller
    const above = node > 0 && inside[tree.parent[node]]
    inside[node] = above || (names[tree.name[node]] && !tree.isRoot(node)) ? 1 : 0
    if (inside[node] && !above) add(sum, tree, node, totals)
  }
  return { names, marks, ...sum }
}

// keys returns a number for the path of each node, so that a link finds the same node among newer profiles.
export function keys (tree) {
  const ofName = tree.names.map(hash)
  const key = new Uint32Array(tree.size)
  for (let node = 0; node < tree.size; node++) {
    const above = node > 0 ? key[tree.parent[node]] : 0
    key[node] = Math.imul((above ^ ofName[tree.name[node]]) + Math.sign(tree.depth[node]), 2654435761) ^ (above >>> 13)
  }
  return key
}

// pruned returns the total of what the server joined in nodes named "other".
export function pruned (tree) {
  const other = tree.names.indexOf('other')
  return tree.name.reduce((sum, name, node) => name === other ? sum + tree.self[node] + tree.baseSelf[node] : sum, 0)
}

const narrow = 2 // pixels

// visible calls paint with each node of a level that is wide enough to be seen, and blur with each row of narrower ones, and whether one
// of them is marked: marks has the number of marked nodes before each node. So its cost depends on the pixels, however many nodes there are.
export function visible ({ start, width }, [begin, end], { from, to, pixels, marks }, paint, blur) {
  const scale = pixels / (to - from)
  const pixel = position => Math.min(Math.max((position - from) * scale, 0), pixels)
  let [blurred, edge, marked] = [-1, -1, false]
  const flush = () => {
    if (blurred >= 0) blur(blurred, edge, marked)
    blurred = -1
  }
  for (let node = after(start, width, begin, end, from); node < end && start[node] < to;) {
    const [left, right] = [pixel(start[node]), pixel(start[node] + width[node])]
    if (left > edge + 1 || right - left >= narrow) flush()
    if (right - left >= narrow) {
      paint(node++, left, right)
      continue
    }
    const next = Math.max(node + 1, after(start, width, node, end, from + (left + narrow) / scale))
    const isMarked = Boolean(marks) && marks[next] > marks[node]
    if (isMarked !== marked) flush()
    if (blurred < 0) [blurred, marked] = [left, isMarked]
    node = next
    edge = pixel(start[node - 1] + width[node - 1])
  }
  flush()
}

// after returns the first node of a level that ends after a position.
export function after (start, width, begin, end, position) {
  while (begin < end) {
    const middle = (begin + end) >> 1
    if (start[middle] + width[middle] > position) end = middle
    else begin = middle + 1
  }
  return begin
}
