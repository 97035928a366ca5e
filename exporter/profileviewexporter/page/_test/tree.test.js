// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Trees of stacks: reading, changing, searching and laying them out.

import assert from 'node:assert/strict'
import test from 'node:test'
import { collapsed, decode, finder, focused, keys, layout, matched, pruned, visible } from '../tree.js'

// main 10 { a 6 { a 4 { b 3 }, b 1 }, b 2 }, other 2
const answer = {
  names: ['total', 'main', 'a', 'b', 'other'],
  levels: [
    { values: ['0', '12', '0', '0'] },
    { values: ['0', '10', '2', '1', '0', '2', '2', '4'] },
    { values: ['0', '6', '1', '2', '0', '2', '2', '3'] },
    { values: ['0', '4', '1', '2', '0', '1', '1', '3'] },
    { values: ['0', '3', '3', '3'] }
  ]
}

const names = (tree, depth) => {
  const [from, to] = tree.levels.get(depth) ?? [0, 0]
  return Array.from({ length: to - from }, (_, i) => `${tree.nameOf(from + i)} ${tree.value[from + i]} ${tree.self[from + i]}`)
}

test('decode finds the parents of nodes', () => {
  const tree = decode(answer)
  assert.equal(tree.size, 8)
  assert.deepEqual([...tree.parent], [-1, 0, 0, 1, 1, 3, 3, 5])
  assert.deepEqual([tree.childFrom[3], tree.childTo[3]], [5, 7])
  assert.equal(pruned(tree), 2)
})

test('decode reads what is not there', () => {
  for (const nothing of [{}, { names: ['total'], levels: [{ values: ['0', '0', '0', '0'] }] }]) {
    const tree = decode(nothing)
    assert.deepEqual([tree.size, tree.value[0]], [1, 0])
    assert.equal(layout(tree).width[0], 0)
  }
})

test('decode reads both sides of a difference', () => {
  // main: baseline 4, now 2; a: only in the baseline; b: only now.
  const tree = decode({
    names: ['total', 'main', 'a', 'b'],
    levels: [{ values: [0, 4, 0, 0, 2, 0, 0] }, { values: [0, 4, 0, 0, 2, 0, 1] }, { values: [0, 4, 4, 0, 0, 0, 2, 0, 0, 0, 0, 2, 2, 3] }]
  }, true)
  assert.deepEqual([...tree.base], [4, 4, 4, 0])
  assert.deepEqual([...tree.value], [2, 2, 0, 2])
  assert.deepEqual([...tree.parent], [-1, 0, 1, 1])
  assert.deepEqual([...layout(tree).width], [6, 6, 4, 2])
  assert.deepEqual([...layout(tree, true).width], [2, 2, 1, 1], 'by share, both sides are as wide')
  assert.deepEqual([...layout(tree, true).start], [0, 0, 0, 1])
})

test('recursion collapses', () => {
  const tree = collapsed(decode(answer))
  assert.deepEqual([0, 1, 2, 3, 4].map(depth => names(tree, depth)), [['total 12 0'], ['main 10 2', 'other 2 2'], ['a 6 2', 'b 2 2'], ['b 4 4'], []])
})

test('a function in focus has its callers and callees', () => {
  const b = focused(decode(answer), 'b')
  assert.deepEqual([0, -1, -2, -3, -4].map(depth => names(b, depth)), [['b 6 6'], ['main 2 0', 'a 4 0'], ['main 1 0', 'a 3 0'], ['main 3 0'], []])
  const a = focused(decode(answer), 'a')
  assert.deepEqual([0, 1, 2, -1].map(depth => names(a, depth)), [['a 6 1'], ['a 4 1', 'b 1 1'], ['b 3 3'], ['main 6 0']])
  assert.equal(layout(b).width[0], 6)
  const { start, width } = layout(b)
  const [from] = b.levels.get(-1)
  assert.deepEqual([start[from], width[from], start[from + 1]], [0, 2, 2])
  assert.equal(focused(decode(answer), 'nothing').value[0], 0)
})

test('a search counts each stack once', () => {
  const tree = decode(answer)
  assert.equal(matched(tree, finder('A')).value, 10, 'main has an a, and all of its callees are below it')
  assert.equal(matched(tree, finder('/^a$/')).value, 6)
  assert.equal(matched(tree, finder('b')).value, 6)
  assert.deepEqual([...matched(tree, finder('b')).marks], tree.name.reduce((sums, name) => [...sums, sums.at(-1) + (tree.names[name] === 'b')], [0]))
  assert.equal(matched(tree, finder('total')).value, 0, 'the root is no function')
  assert.equal(matched(tree, finder('/(/')).value, 0)
})

test('a key finds the same node among other profiles', () => {
  const tree = decode(answer)
  const other = decode({ names: ['total', 'b', 'x', 'main'], levels: [{ values: [0, 9, 0, 0] }, { values: [0, 5, 5, 2, 0, 4, 0, 3] }, { values: [5, 4, 4, 1] }] })
  assert.equal(new Set(keys(tree)).size, tree.size)
  assert.equal(keys(other)[3], keys(tree)[4])
})

test('painting costs at most one call for each pixel', () => {
  const n = 100_000
  const start = Float64Array.from({ length: n }, (_, i) => i)
  const width = new Float64Array(n).fill(1)
  const show = (boxes, from, to, marks) => {
    const painted = []
    const blurred = []
    visible(boxes, [0, boxes.start.length], { from, to, pixels: 1000, marks }, (...box) => painted.push(box), (...row) => blurred.push(row))
    return { painted, blurred }
  }
  assert.deepEqual(show({ start, width }, 0, n), { painted: [], blurred: [[0, 1000, false]] }, 'all are narrower than a pixel')
  const { painted, blurred } = show({ start, width }, 500, 510)
  assert.deepEqual([painted.length, painted[0], painted[9], blurred.length], [10, [500, 0, 100], [509, 900, 1000], 0])
  // Every second node is narrow, and there is a gap after it.
  const gaps = show({ start: start.map(i => 10 * i), width: width.map((_, i) => i % 2 ? 10 : 1) }, 0, 10 * n)
  assert.ok(gaps.painted.length + gaps.blurred.length <= 1000, 'of many nodes')
  assert.deepEqual(show({ start: [0, 1, 2, 500], width: [1, 1, 498, 1] }, 0, 1000), { painted: [[2, 2, 500]], blurred: [[0, 2, false], [500, 501, false]] })
  // What a search finds is seen in boxes that are too narrow to be drawn.
  const marks = Int32Array.from({ length: n + 1 }, (_, i) => i > 50_000 ? 1 : 0)
  assert.deepEqual(show({ start, width }, 0, n, marks).blurred, [[0, 500, false], [500, 502, true], [502, 1000, false]])
})
