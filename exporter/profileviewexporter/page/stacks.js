// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The stacks of a selection, or their difference from a baseline: flame graph, table, and what controls both.

import { byId, choices, element, place } from './dom.js'
import { Numbers, change, count, share, signed, unitOf, value } from './format.js'
import { FlameGraph } from './flamegraph.js'
import { valuesOf } from './selectors.js'
import { Table, placeOf } from './table.js'
import { collapsed, finder, focused, matched, pruned } from './tree.js'

export class Stacks {
  // go changes the state, link returns the URL of a change.
  constructor (go, link) {
    this.link = link
    this.graph = new FlameGraph(byId('graph'), { zoom: zoom => go({ zoom }), point: (...at) => this.tooltip(...at), label: node => this.label(node) })
    this.table = new Table(byId('table'), link, name => this.graph.mark({ marked: this.tree.names.indexOf(name) }))
    this.switches = [
      choices(byId('by'), { share: 'By share', absolute: 'Absolute' }, by => go({ by })),
      choices(byId('root'), { top: 'Root at top', bottom: 'Root at bottom' }, root => go({ root })),
      choices(byId('view'), { graph: 'Graph', both: 'Both', table: 'Table' }, view => go({ view }))
    ]
    byId('recursion').addEventListener('click', () => go({ recursion: this.state.recursion ? '' : 'collapsed', zoom: '' }))
  }

  // show takes the state, the tree of all stacks and, once they are known, the functions and the calls of the function in focus.
  show (state, all, functions, calls, info) {
    const { by, root, view, recursion, search, zoom } = state
    const byShare = all.compared && by === 'share'
    const whole = { value: all.value[0], base: all.base[0] }
    this.transform(all, state)
    Object.assign(this, { state, numbers: new Numbers(unitOf(state.type), whole, all.compared, byShare) })
    for (const show of this.switches) show(state)
    byId('recursion').setAttribute('aria-pressed', String(recursion === 'collapsed'))
    byId('stacks').dataset.view = view
    const find = search && finder(search)
    const found = find && matched(this.tree, find)
    byId('matched').textContent = found ? `Matched ${this.numbers.both(found.value, found.base)}` : ''
    this.graph.show(this.tree, { root, byShare, zoom })
    this.graph.mark({ found })
    this.about(all, whole, functions, info)
    if (!functions) return
    if (this.functions !== functions) Object.assign(this, { functions, rows: new Map(functions.functions.map(row => [row.name, row])) })
    this.table.show(functions.functions, { ...state, numbers: this.numbers, find, calls, row: this.rows.get(state.focus) })
  }

  // transform makes the tree that is drawn of the tree of all stacks.
  transform (all, { recursion, focus }) {
    const key = `${recursion} ${focus}`
    if (this.all === all && this.key === key) return
    const tree = recursion ? collapsed(all) : all
    Object.assign(this, { all, key, tree: focus ? focused(tree, focus) : tree })
  }

  // about says what the graph shows: the totals, what is in focus or fills the width, and what could not be drawn.
  about (all, whole, functions, info) {
    const { state, link, numbers: { unit, compared } } = this
    const total = (name, text) => element('span', {}, `${name} `, element('b', {}, text))
    const chip = (title, name, changes) => element('a', { className: 'chip', href: link(changes), title: name }, `${title} `, element('b', {}, name), ' ×')
    const parts = compared
      ? [total('Baseline', value(whole.base, unit)), total('Selection', value(whole.value, unit)),
          total('Change', `${change(whole.value - whole.base, unit)} (${whole.base ? signed(whole.value / whole.base - 1, '%') : 'new'})`),
          element('span', {}, 'less ', element('span', { className: 'scale' }), ' more')]
      : [total('Total', value(whole.value, unit)), functions && count(functions.profiles, 'profile')]
    if (state.focus) parts.push(chip('Focus', state.focus, { focus: '', zoom: '' }))
    if (state.focus && this.tree.value[0] + this.tree.base[0] === 0) parts.push('It has no value in the selection, or one that is too small to draw')
    const copy = event => navigator.clipboard.writeText(name).then(() => { event.target.textContent = 'Copied' })
    const name = this.graph.zoomed > 0 && this.tree.nameOf(this.graph.zoomed)
    if (name) {
      parts.push(chip('Zoom', name, { zoom: '' }), element('a', { href: link({ focus: name, zoom: '' }) }, 'Focus on it'),
        navigator.clipboard && element('button', { type: 'button', className: 'link', onclick: copy }, 'Copy name'))
    }
    const { trace_id: trace, span_id: span = '' } = info ? valuesOf(state.select) : {}
    if (trace && info.trace_url) {
      parts.push(element('a', { href: info.trace_url.replaceAll('{trace_id}', encodeURIComponent(trace)).replaceAll('{span_id}', encodeURIComponent(span)) }, 'Open the trace'))
    }
    const other = pruned(all)
    if (other) parts.push(`${share(other, whole.value + whole.base)} is too small to draw, in boxes named other`)
    byId('about').replaceChildren(...parts.filter(Boolean))
  }

  lines (node) {
    const { tree } = this
    return this.numbers.lines({ total: tree.value[node], self: tree.self[node], base_total: tree.base[node], base_self: tree.baseSelf[node] })
  }

  // label is what a screen reader says about a box.
  label (node) {
    return [this.tree.nameOf(node), ...this.lines(node).map(line => line.join(' '))].join('. ')
  }

  tooltip (node, x, y) {
    const tip = byId('tooltip')
    tip.hidden = node < 0
    if (tip.hidden) return
    const name = this.tree.nameOf(node)
    const rows = this.lines(node).map(line => element('tr', {}, line.map((text, i) => element('td', { className: i ? 'number' : '' }, text))))
    tip.replaceChildren(element('strong', {}, name), element('div', { className: 'muted' }, placeOf(this.rows?.get(name))), element('table', { role: 'presentation' }, rows))
    place(tip, x, y)
  }
}
