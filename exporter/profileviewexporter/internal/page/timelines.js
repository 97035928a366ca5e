// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The timeline of the selection, grouped by a label, and that of the baseline.

import { byId, element } from './dom.js'
import { count, unitOf, value } from './format.js'
import { added } from './selectors.js'
import { Timeline } from './timeline.js'

const steps = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400]
const mostBars = 100
const colours = 8

// stepOf returns the seconds of a bar.
export function stepOf ({ from, until }) {
  return steps.find(s => (until - from) / 1000 / s <= mostBars) ?? 86400
}

// largest returns the series with the largest totals, and one for the rest, which has no colour of its own.
function largest (series) {
  const ordered = series.toSorted((a, b) => b.total - a.total).map((s, i) => ({ ...s, colour: `colour-${i}` }))
  if (ordered.length <= colours) return ordered
  const rest = ordered.splice(colours - 1)
  return [...ordered, { name: count(rest.length, 'other'), colour: 'rest', total: rest.reduce((sum, s) => sum + s.total, 0), points: rest.flatMap(s => s.points) }]
}

export class Timelines {
  constructor (go, link) {
    this.link = link
    const time = (from, until) => ({ from: String(from), until: String(until) })
    this.selection = new Timeline(byId('selected').querySelector('.timeline'), (...range) => go({ ...time(...range), zoom: '' }))
    this.base = new Timeline(byId('compared').querySelector('.timeline'), (...range) => go({ base: { ...this.state.base, ...time(...range) }, zoom: '' }))
  }

  show (state, selection, series, base, baseSeries, home) {
    this.state = state
    const unit = unitOf(state.type)
    const grouped = largest(home ? [{ points: series.flatMap(s => s.points) }] : series)
    this.selection.show(grouped, { ...selection, step: stepOf(selection) * 1000, unit })
    if (base) this.base.show(largest(baseSeries), { ...base, step: stepOf(base) * 1000, unit })
    const entries = home || base || !state.group ? [] : grouped
    byId('selected').querySelector('.legend').replaceChildren(...entries.map(s => element('span', {},
      element('span', { className: `key ${s.colour}` }),
      s.colour === 'rest' || !s.name ? s.name || '(none)' : element('a', { href: this.link({ select: added(state.select, state.group, s.name), group: '' }) }, s.name),
      ` ${value(s.total, unit)}`)))
  }
}
