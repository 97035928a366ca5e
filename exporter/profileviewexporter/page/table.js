// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The table of functions beside the flame graph, and of the callers and callees of one function. It has all functions, exactly, also
// those that are too small to draw; it shows the first ones of its order, and what a search finds among all.

import { element, moreButton } from './dom.js'
import { forms } from './names.js'

const page = 100

export class Table {
  // link returns the URL of a change of the state, mark takes the function under the pointer or with the focus.
  constructor (holder, link, mark) {
    Object.assign(this, { holder, link })
    const over = event => mark(event.target.closest?.('tr')?.dataset.name)
    for (const type of ['pointerover', 'focusin']) holder.addEventListener(type, over)
    for (const type of ['pointerleave', 'focusout']) holder.addEventListener(type, () => mark(undefined))
  }

  // show takes the rows of all functions, and the state with the callers and callees of the function in focus.
  show (rows, state) {
    if (this.order !== JSON.stringify([state.search, state.sort, state.focus])) this.most = page
    Object.assign(this, { rows, state, order: JSON.stringify([state.search, state.sort, state.focus]) })
    const kept = this.holder.contains(document.activeElement) && document.activeElement.dataset.keep
    this.holder.replaceChildren(...(state.calls ? this.calls(state) : this.functions(state)).filter(Boolean))
    if (kept) (this.holder.querySelector(`[data-keep="${kept}"]`) ?? this.holder).focus()
  }

  functions ({ numbers, find, sort }) {
    const rows = find ? this.rows.filter(row => find(row.name)) : this.rows
    const self = numbers.compared ? changeColumn(numbers, 'self', 'Self change') : valueColumn(numbers, 'self', 'Self')
    return this.table('Function', rows, [self, ...totalColumns(numbers, 'Total change')], sort, find ? 'No function matches the search.' : 'No functions.')
  }

  calls ({ calls, numbers, focus, row }) {
    const part = (title, rows) => [element('h2', {}, `${title}s`), ...this.table(title, rows, totalColumns(numbers, 'Change'), null, 'None.')]
    return [
      element('h2', {}, focus), element('p', { className: 'muted' }, row ? placeOf(row) : 'This function has no value in the selection.'),
      element('p', {}, this.function('', 'All functions', '')),
      ...row ? [...part('Caller', calls.callers), ...part('Callee', calls.callees)] : []
    ]
  }

  // table has a row for each function. sort is null where there is nothing to choose.
  table (title, rows, columns, sort, none) {
    if (rows.length === 0) return [element('p', { className: 'muted' }, none)]
    const whole = this.state.view === 'table'
    const head = [{ key: 'name', title }, ...columns].map(column => this.heading(column, sort))
    const body = sorted(rows, columns, sort).slice(0, this.most).map(row => element('tr', { 'data-name': row.name },
      element('th', { scope: 'row' }, this.function(row.name, whole ? row.name : forms(row.name)[1], row.name)),
      columns.map(({ tone, cell }) => element('td', { className: `number ${tone ? tone(row) : ''}` }, cell(row)))))
    return [
      element('table', { className: columns.length > 2 ? 'changes' : '' }, element('caption', { className: 'unseen' }, `${title}s`),
        element('thead', {}, element('tr', {}, head)), element('tbody', {}, body)),
      moreButton(rows.length - this.most, () => { this.most += 5 * page; this.show(this.rows, this.state) })
    ]
  }

  // function links to a function in focus.
  function (focus, text, title) {
    return element('a', { href: this.link({ focus, zoom: '' }), title, 'data-keep': 'function' }, text)
  }

  // heading sorts by its column, the other way round if it does already.
  heading ({ key, title }, sort) {
    const properties = { scope: 'col', className: key === 'name' ? '' : 'number' }
    if (sort === null) return element('th', properties, title)
    const sorting = sort === key ? 1 : sort === `-${key}` ? -1 : 0
    properties['aria-sort'] = sorting === 0 ? 'none' : (sorting > 0) === (key === 'name') ? 'ascending' : 'descending'
    return element('th', properties, element('a', { href: this.link({ sort: sorting > 0 ? `-${key}` : key }), 'data-keep': `sort-${key}` }, title))
  }
}

function valueColumn (numbers, key, title) {
  return { key, title, by: row => row[key], cell: row => [numbers.now(row[key]), ' ', element('span', { className: 'share' }, numbers.share(row[key]))] }
}

function changeColumn (numbers, key, title) {
  const by = row => numbers.difference(row[key], row[`base_${key}`])
  return { key, title, by, tone: row => by(row) > 0 ? 'more' : by(row) < 0 ? 'less' : '', cell: row => numbers.change(row[key], row[`base_${key}`]) }
}

function totalColumns (numbers, title) {
  if (!numbers.compared) return [valueColumn(numbers, 'total', 'Total')]
  return [
    changeColumn(numbers, 'total', title),
    { key: 'base', title: 'Baseline', by: row => row.base_total, cell: row => numbers.base(row.base_total) },
    { key: 'now', title: 'Selection', by: row => row.total, cell: row => numbers.now(row.total) }
  ]
}

// sorted orders rows by a column, descending unless its key has a minus. Without one, the largest value or change comes first.
function sorted (rows, columns, sort) {
  const key = sort?.replace('-', '')
  const sign = sort === key ? 1 : -1
  if (key === 'name') return rows.toSorted((a, b) => sign * a.name.localeCompare(b.name))
  const column = columns.find(c => c.key === key)
  const by = column ? row => sign * column.by(row) : row => Math.abs(columns[0].by(row))
  return rows.toSorted((a, b) => by(b) - by(a))
}

// placeOf is the file and line of a function, if they are known.
export function placeOf (row) {
  return row?.file ? `${row.file}${row.line ? `:${row.line}` : ''}` : ''
}
