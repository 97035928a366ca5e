// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The state of the page is its URL: back, forward, F5 and a copied link show the same.

import { isReadable, parse, print, split } from './selectors.js'

const defaults = {
  service: '', // of the selection; without one, the page lists the services
  select: '', // its other selectors
  from: '-15m', // a time before now, or milliseconds since 1970
  until: 'now',
  type: '', // the ID of the profile type
  group: '', // the label that the timeline is grouped by
  by: 'share', // how a difference compares: share, or absolute
  view: 'both', // graph, table, or both
  root: 'top', // where the root of the graph is: top, or bottom
  recursion: '', // collapsed: calls of a function to itself are one box
  search: '',
  focus: '', // a function: the graph shows its callers and callees, and so does the table
  zoom: '', // the key of the node that fills the width
  sort: '', // the column of the table
  base: null // the baseline of a difference: service, select, from, until
}
const fields = Object.keys(defaults).filter(name => name !== 'base')
const selection = ['service', 'select', 'from', 'until']

export function read (search) {
  const parameters = new URLSearchParams(search)
  const values = (names, prefix) => Object.fromEntries(names.map(name => [name, parameters.get(prefix + name) || defaults[name]]))
  const state = values(fields, '')
  state.base = parameters.has('base_service') ? values(selection, 'base_') : null
  // Links from elsewhere have a whole selector, or the IDs of a trace and of a span.
  if (parameters.has('query')) Object.assign(state, split(parameters.get('query')))
  const ids = ['trace_id', 'span_id'].filter(name => parameters.has(name)).map(name => ({ name, operator: '=', value: parameters.get(name) }))
  if (ids.length > 0) state.select = isReadable(state.select) ? print([...parse(state.select), ...ids]) : `${state.select}, ${print(ids)}`
  return state
}

export function write (state) {
  const parameters = new URLSearchParams()
  const put = (name, value, usual) => { if (value !== usual) parameters.set(name, value) }
  for (const name of fields) put(name, state[name], defaults[name])
  for (const name of state.base ? selection : []) put(`base_${name}`, state.base[name], name === 'service' ? null : defaults[name])
  return `?${parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',')}`
}

const units = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 }
export const ago = /^(?:now)?-(\d+)([smhd])$/

// moment returns a time of the state in milliseconds since 1970, NaN if it cannot be read or no date has it.
export function moment (text, now) {
  const [before, n, unit] = ago.exec(text) ?? []
  const ms = before ? now - n * units[unit] : text === 'now' ? now : /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  return new Date(ms).getTime()
}

// check throws an error that says what of a selection cannot be read.
export function check ({ select, from, until }) {
  parse(select)
  const wrong = [from, until].find(text => Number.isNaN(moment(text, 0)))
  if (wrong) throw new Error(`Cannot read the time: ${wrong}. Times look like -15m, now, 2026-11-23T10:00:00Z, or milliseconds since 1970`)
}

// before returns the time just before that of a selection: the baseline that a comparison begins with.
export function before ({ from, until }, now) {
  const [relative, n, unit] = ago.exec(from) ?? []
  if (relative && until === 'now') return { from: `-${2 * n}${unit}`, until: from }
  const [start, end] = [moment(from, now), moment(until, now)]
  return { from: String(2 * start - end), until: String(start) }
}
