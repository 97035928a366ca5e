// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The requests of the page: Pyroscope's querier API, and the table of functions. A selection has a time in milliseconds.

import { added, query } from './selectors.js'
import { typeName } from './format.js'

// maxNodes is how many nodes a flame graph may have. What the server joins above it is drawn as "other".
const maxNodes = 100_000

// request asks again while the server is busy: it bounds how many requests it answers at a time.
async function request (url, options, attempts = 5) {
  const response = await fetch(url, options).catch(error => {
    throw error.name === 'AbortError' ? error : new Error('The server cannot be reached.')
  })
  if (response.ok) return response.json()
  if (response.status === 503 && attempts > 0) {
    await new Promise(resolve => setTimeout(resolve, 1000))
    return request(url, options, attempts - 1)
  }
  const text = await response.text()
  let message = text
  try {
    message = JSON.parse(text).message
  } catch {} // not every error is JSON
  throw new Error(message || `The server answered ${response.status}.`)
}

function call (method, message, signal) {
  const headers = { 'Content-Type': 'application/json' }
  return request(`querier.v1.QuerierService/${method}`, { method: 'POST', headers, body: JSON.stringify(message), signal })
}

const range = ({ from, until }) => ({ start: Math.floor(from), end: Math.ceil(until) })
const stacks = (type, s) => ({ profileTypeID: type, labelSelector: query(s.service, s.select), maxNodes, ...range(s) })
const labelsOf = labels => Object.fromEntries((labels ?? []).map(l => [l.name, l.value]))

// services returns the profile types of each service.
export async function services (time, signal) {
  const { labelsSet = [] } = await call('Series', { matchers: ['{}'], labelNames: ['service_name', '__profile_type__'], ...range(time) }, signal)
  const found = new Map()
  for (const { service_name: service, __profile_type__: type } of labelsSet.map(set => labelsOf(set.labels))) {
    if (service && type) found.set(service, [...found.get(service) ?? [], type])
  }
  for (const types of found.values()) types.sort((a, b) => typeName(a).localeCompare(typeName(b)))
  return new Map([...found].sort(([a], [b]) => a.localeCompare(b)))
}

// series returns values over time: of the whole selection, or of each value of a label, with its total. Totals are asked for, since
// values that are a state at one time do not add up.
export async function series (type, selection, step, group, signal) {
  const ask = async step => {
    // A point has the time of the end of its step. The last one can end after the selection, and has only what is in the selection.
    const labelSelector = query(selection.service, selection.select)
    const { series = [] } = await call('SelectSeries', { profileTypeID: type, labelSelector, step, ...range(selection), ...(group && { groupBy: [group] }) }, signal)
    return series.map(({ labels, points = [] }) => ({
      name: labelsOf(labels)[group] ?? '', points: points.map(p => ({ time: Number(p.timestamp), value: Number(p.value ?? 0) })) // JSON leaves out a 0
    }))
  }
  const [parts, wholes] = await Promise.all([ask(step), group ? ask(Math.ceil((selection.until - selection.from) / 1000)) : []])
  const totals = new Map(wholes.map(({ name, points }) => [name, points.reduce((sum, p) => sum + p.value, 0)]))
  return parts.map(part => ({ ...part, total: totals.get(part.name) ?? 0 }))
}

// flamegraph returns the stacks of a selection, or their difference from those of a baseline.
export async function flamegraph (type, selection, base, signal) {
  const right = stacks(type, selection)
  const { flamegraph = {} } = await (base ? call('Diff', { left: stacks(type, base), right }, signal) : call('SelectMergeStacktraces', right, signal))
  return flamegraph
}

// info returns what the page must know of the configuration.
export function info (signal) {
  return request('info', { signal })
}

function parameters (type, { service, select, from, until }) {
  return { type, query: query(service, select), from: new Date(from).toISOString(), until: new Date(until).toISOString() }
}

// functions returns the exact table: self and total of each function, with its file. With a name, it returns callers and callees.
export function functions (type, selection, base, name, signal) {
  const baseline = base ? Object.entries(parameters(type, base)).map(([name, value]) => [`base_${name}`, value]) : []
  return request(`functions?${new URLSearchParams([...Object.entries({ ...parameters(type, selection), ...(name && { function: name }) }), ...baseline])}`, { signal })
}

// download returns the URL of a file.
export function download (format, type, selection) {
  return `download/${format}?${new URLSearchParams(parameters(type, selection))}`
}

// labels selects the profiles whose labels are offered.
const labels = (type, s) => ({ matchers: [query(s.service, type ? added(s.select, '__profile_type__', type) : s.select)], ...range(s) })

export async function labelNames (type, selection, signal) {
  const { names = [] } = await call('LabelNames', labels(type, selection), signal)
  return names.filter(name => !name.startsWith('__') && name !== 'service_name')
}

export async function labelValues (type, name, selection, signal) {
  const { names = [] } = await call('LabelValues', { name, ...labels(type, selection) }, signal)
  return names
}
