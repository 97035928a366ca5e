// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The flame graph: a canvas as large as its window, which moves with the scroll position. It works with a pointer, and as a tree
// with a keyboard and a screen reader.

import { Painter, rowHeight } from './painter.js'
import { after, keys, layout } from './tree.js'

const zoomTime = 160 // milliseconds
const calm = matchMedia('(prefers-reduced-motion: reduce)')
const dark = matchMedia('(prefers-color-scheme: dark)')

export class FlameGraph {
  // actions: zoom(key), point(node, x, y) with -1 for none, label(node).
  constructor (holder, actions) {
    Object.assign(this, { holder, actions, tree: null, pointed: -1, current: 0 })
    this.sizer = holder.querySelector('.sizer')
    this.painter = new Painter(holder.querySelector('canvas'))
    dark.addEventListener('change', () => { this.painter.recolour(); this.draw() })
    new ResizeObserver(() => this.resize()).observe(holder)
    const on = (type, handler) => holder.addEventListener(type, handler)
    on('scroll', () => { this.point(-1); this.draw() })
    on('pointermove', event => this.point(this.nodeAt(event), event.clientX, event.clientY))
    on('pointerleave', () => this.point(-1))
    on('click', event => { if (this.nodeAt(event) >= 0) this.zoom(this.current = this.nodeAt(event)) })
    on('keydown', event => this.press(event))
    on('copy', event => { event.clipboardData.setData('text/plain', this.tree.nameOf(this.current)); event.preventDefault() })
    on('focus', () => { if (this.tree && holder.matches(':focus-visible')) this.select(this.current) })
    on('blur', () => { actions.point(-1); this.draw() })
  }

  // show draws a tree. root is top or bottom, zoom the key of the node that fills the width.
  show (tree, { root, byShare, zoom }) {
    const turned = root !== this.root || tree !== this.tree
    if (tree !== this.tree || byShare !== this.byShare) {
      this.point(-1)
      this.actions.point(-1) // of the keyboard
      Object.assign(this, { tree, byShare, boxes: layout(tree, byShare), keys: keys(tree), current: 0, view: null })
      this.painter.show(tree, this.boxes)
      this.lowest = -[...tree.levels.keys()].filter(depth => depth < 0).length
      this.highest = this.lowest + tree.levels.size - 1
    }
    this.root = root
    this.zoomed = zoom ? Math.max(this.keys.indexOf(Number(zoom)), 0) : 0
    this.resize()
    this.moveTo(this.zoomed)
    if (turned) this.holder.scrollTop = this.rowOf(tree.depth[this.zoomed]) * rowHeight - this.height / 2
  }

  // mark outlines the boxes of a function and fades those that a search does not find.
  mark ({ marked = this.marked, found = this.found }) {
    Object.assign(this, { marked, found })
    this.draw()
  }

  resize () {
    if (!this.tree || this.holder.clientHeight === 0) return
    this.height = this.holder.clientHeight
    this.sizer.style.height = `${Math.max((this.highest - this.lowest + 1) * rowHeight, this.height)}px`
    this.painter.resize(this.sizer.clientWidth, this.height)
    this.paint()
  }

  // draw paints with the next frame.
  draw () {
    this.frame ??= requestAnimationFrame(() => { this.frame = undefined; this.paint() })
  }

  paint () {
    if (!this.tree || !this.view || !this.painter.pixels) return
    const [from, to] = this.view
    const outlined = [this.pointed, this.holder.matches(':focus-visible') ? this.current : -1]
    this.painter.paint({ from, to, scroll: this.holder.scrollTop, rowOf: depth => this.rowOf(depth), found: this.found, marked: this.marked, outlined })
  }

  // moveTo makes a node fill the width, in a moment, or at once if the user wants no motion.
  moveTo (node) {
    const { start, width } = this.boxes
    const goal = [start[node], start[node] + (width[node] || 1)]
    const from = this.view ?? goal
    const began = performance.now()
    this.goal = goal
    const step = () => {
      if (this.goal !== goal) return
      const part = calm.matches || from === goal ? 1 : Math.min((performance.now() - began) / zoomTime, 1)
      const eased = 1 - (1 - part) ** 3
      this.view = part === 1 ? goal : goal.map((end, i) => from[i] + (end - from[i]) * eased)
      this.paint()
      if (part < 1) requestAnimationFrame(step)
    }
    step()
  }

  // rowOf is the row on the canvas of a depth. A graph that is lower than its window stands at the side of its root.
  rowOf (depth) {
    if (this.root === 'top') return depth - this.lowest
    return Math.max(this.highest - depth, Math.floor(this.height / rowHeight) - 1 - (depth - this.lowest))
  }

  nodeAt ({ clientX, clientY }) {
    const box = this.painter.canvas.getBoundingClientRect()
    const row = Math.floor((clientY - box.top + this.holder.scrollTop) / rowHeight)
    const level = this.tree?.levels.get(this.lowest + Math.abs(row - this.rowOf(this.lowest)))
    if (!level || !this.view) return -1
    const position = this.view[0] + (clientX - box.left) / this.painter.pixels * (this.view[1] - this.view[0])
    const node = after(this.boxes.start, this.boxes.width, ...level, position)
    return node < level[1] && this.boxes.start[node] <= position ? node : -1
  }

  point (node, x, y) {
    if (node === this.pointed && node < 0) return
    this.pointed = node
    this.holder.classList.toggle('over', node >= 0)
    this.actions.point(node, x, y)
    this.draw()
  }

  // zoom fills the width with a node. The node that fills it already goes back to all.
  zoom (node) {
    this.actions.zoom(node === 0 || node === this.zoomed ? '' : String(this.keys[node]))
  }

  press (event) {
    if (!this.tree || event.ctrlKey || event.metaKey || event.altKey) return
    const deeper = this.root === 'top' ? 1 : -1
    const moves = { ArrowDown: () => this.step(deeper), ArrowUp: () => this.step(-deeper), ArrowRight: () => this.beside(1), ArrowLeft: () => this.beside(-1), Home: () => 0 }
    if (event.key in moves) this.select(moves[event.key]())
    else if (event.key === 'Enter') this.zoom(this.current)
    else if (event.key === 'Escape') this.actions.zoom('')
    else return
    event.preventDefault()
  }

  // step returns the node one level deeper or higher. The callers of a function in focus have negative depths.
  step (by) {
    const { tree, current } = this
    const depth = tree.depth[current]
    if (depth * by < 0) return tree.parent[current]
    if (depth === 0 && by < 0) return tree.levels.get(-1)?.[0] ?? current
    return tree.childTo[current] > tree.childFrom[current] ? tree.childFrom[current] : current
  }

  beside (by) {
    const node = this.current + by
    const [first, end] = this.tree.levels.get(this.tree.depth[this.current])
    return node >= first && node < end ? node : this.current
  }

  // select gives a node the keyboard's focus. Its label goes to a new element, since screen readers read only those.
  select (node) {
    this.current = node
    this.reveal(node)
    const item = document.createElement('div')
    Object.assign(item, { id: `node-${node}`, className: 'unseen', role: 'treeitem', ariaLevel: Math.abs(this.tree.depth[node]) + 1, textContent: this.actions.label(node) })
    this.holder.querySelector('[role=treeitem]').replaceWith(item)
    this.holder.setAttribute('aria-activedescendant', item.id)
    const box = this.painter.canvas.getBoundingClientRect()
    const left = (this.boxes.start[node] - this.view[0]) / (this.view[1] - this.view[0]) * box.width
    this.actions.point(node, box.left + Math.min(Math.max(left, 0), box.width - 20), box.top + this.rowOf(this.tree.depth[node]) * rowHeight - this.holder.scrollTop + 8)
    this.draw()
  }

  // reveal scrolls to the row of a node.
  reveal (node) {
    const y = this.rowOf(this.tree.depth[node]) * rowHeight
    this.holder.scrollTop = Math.min(Math.max(this.holder.scrollTop, y + 2 * rowHeight - this.height), Math.max(y - rowHeight, 0))
  }
}
