// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The timeline: the values of profiles over time as bars, with axes. Dragging over it, or the arrow keys with Shift, selects a time.

import { byId, drawing, element } from './dom.js'
import { clock, count, round, timeTicks, unitOf, value, valueTicks } from './format.js'
import { added } from './selectors.js'

const margin = { left: 60, right: 10, top: 8, bottom: 18 }

class Timeline {
  // brush takes the time that was selected.
  constructor (holder, brush) {
    Object.assign(this, { holder, brush, anchor: null, cursor: null })
    this.svg = drawing('svg', { class: 'chart', tabindex: 0, role: 'slider', 'aria-label': 'Timeline', 'aria-valuemin': 0, 'aria-valuenow': 0 })
    this.readout = element('output', { className: 'readout' })
    holder.replaceChildren(this.svg, this.readout)
    new ResizeObserver(() => this.draw()).observe(holder)
    const on = (type, handler) => this.svg.addEventListener(type, handler)
    on('pointerdown', event => this.press(event))
    on('pointermove', event => this.move(this.stepAt(event)))
    on('pointerup', () => this.end())
    on('pointercancel', () => { this.anchor = null; this.move(null) })
    on('pointerleave', () => { if (this.anchor === null) this.move(null) })
    on('keydown', event => this.key(event))
    on('focus', () => { if (this.svg.matches(':focus-visible')) this.move(this.steps - 1) })
    on('blur', () => { this.anchor = null; this.move(null) })
  }

  // show takes series of points, each with the time of the end of its step.
  show (series, { from, until, step, unit }) {
    const steps = Math.max(Math.ceil((until - from) / step), 1)
    const bars = series.map(({ points }) => {
      const values = new Float64Array(steps)
      for (const { time, value } of points) values[Math.min(Math.max(Math.ceil((time - from) / step) - 1, 0), steps - 1)] += value
      return values
    })
    const sums = Array.from({ length: steps }, (_, i) => bars.reduce((sum, values) => sum + values[i], 0))
    Object.assign(this, { series, bars, sums, greatest: Math.max(...sums), from, until, step, steps, unit, cursor: null, anchor: null })
    this.svg.setAttribute('aria-valuemax', steps - 1)
    this.draw()
  }

  draw () {
    if (!this.bars || !this.holder.clientWidth) return
    const width = this.width = this.holder.clientWidth
    const height = this.height = this.svg.clientHeight
    const bottom = height - margin.bottom
    const y = this.y = v => bottom - v / (this.greatest || 1) * (bottom - margin.top)
    const text = (x, y, anchor, text) => drawing('text', { class: 'axis', x, y, 'text-anchor': anchor }, text)
    const parts = valueTicks(this.greatest, this.unit).flatMap(tick => [
      drawing('path', { class: 'grid', d: `M${margin.left} ${y(tick)}H${width - margin.right}` }),
      text(margin.left - 6, y(tick) + 4, 'end', round(tick, this.unit))
    ])
    for (const tick of timeTicks(this.from, this.until, Math.max((width - margin.left) / 90, 2))) {
      if (this.x(tick) < width - 24) parts.push(text(this.x(tick), height - 4, 'middle', clock(tick, this.until - this.from)))
    }
    const tops = new Float64Array(this.steps)
    this.bars.forEach((values, i) => parts.push(drawing('path', { class: `bar ${this.series[i].colour}`, d: this.path(values, tops) })))
    this.brushed = drawing('rect', { class: 'brush', y: margin.top, height: bottom - margin.top })
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    this.svg.replaceChildren(...parts, this.brushed)
    this.move(this.cursor)
  }

  x (time) {
    return margin.left + (time - this.from) / (this.until - this.from) * (this.width - margin.left - margin.right)
  }

  // path draws the bars of a series on top of those before it.
  path (values, tops) {
    let path = ''
    values.forEach((v, i) => {
      if (v <= 0) return
      const left = this.x(this.from + i * this.step)
      const right = this.x(Math.min(this.from + (i + 1) * this.step, this.until))
      const gap = right - left > 4 ? 1 : 0
      const low = this.y(tops[i])
      tops[i] += v
      path += `M${left} ${low}V${Math.min(this.y(tops[i]), low - 0.5)}H${right - gap}V${low}z`
    })
    return path
  }

  stepAt ({ clientX }) {
    const box = this.svg.getBoundingClientRect()
    const part = (clientX - box.left - margin.left) / (box.width - margin.left - margin.right)
    return Math.min(Math.max(Math.floor(part * (this.until - this.from) / this.step), 0), this.steps - 1)
  }

  press (event) {
    if (event.button !== 0) return
    this.svg.setPointerCapture(event.pointerId)
    this.anchor = this.stepAt(event)
    this.move(this.anchor)
  }

  end () {
    if (this.anchor !== null && this.anchor !== this.cursor) this.apply() // a click without dragging selects nothing
    this.anchor = null
    this.move(this.cursor)
  }

  apply () {
    const [first, last] = this.chosen()
    this.brush(this.from + first * this.step, Math.min(this.from + (last + 1) * this.step, this.until))
  }

  chosen () {
    const anchor = this.anchor ?? this.cursor
    return [Math.min(anchor, this.cursor), Math.max(anchor, this.cursor)]
  }

  key (event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -this.steps, End: this.steps }
    if (event.key in moves) {
      const at = this.cursor ?? this.steps - 1
      this.anchor = event.shiftKey ? this.anchor ?? at : null
      this.move(Math.min(Math.max(at + moves[event.key], 0), this.steps - 1))
    } else if (event.key === 'Enter' && this.cursor !== null) this.apply()
    else return
    event.preventDefault()
  }

  // move shows the time and the value of a step, or of the steps that are being selected.
  move (step) {
    this.cursor = step
    this.brushed?.classList.toggle('shown', step !== null)
    if (step === null || !this.brushed) {
      this.readout.textContent = ''
      return
    }
    const [first, last] = this.chosen()
    const [start, end] = [this.from + first * this.step, Math.min(this.from + (last + 1) * this.step, this.until)]
    this.brushed.setAttribute('x', this.x(start))
    this.brushed.setAttribute('width', Math.max(this.x(end) - this.x(start), 1))
    const greatest = Math.max(...this.sums.slice(first, last + 1)) // not their sum, since a state at one time does not add up
    const text = `${clock(start, 0)} – ${clock(end, 0)}  ${first < last ? 'up to ' : ''}${value(greatest, this.unit)}`
    this.readout.textContent = text
    this.svg.setAttribute('aria-valuenow', step)
    this.svg.setAttribute('aria-valuetext', text)
  }
}

const steps = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400]
const mostBars = 100
const colours = 8

// stepOf returns the seconds of a bar.
export function stepOf ({ from, until }) {
  return steps.find(s => (until - from) / 1000 / s <= mostBars) ?? Math.ceil((until - from) / 86400e3 / mostBars) * 86400
}

// largest returns the series with the largest totals, and one for the rest, which has no colour of its own.
function largest (series) {
  const ordered = series.toSorted((a, b) => b.total - a.total).map((s, i) => ({ ...s, colour: `colour-${i}` }))
  if (ordered.length <= colours) return ordered
  const rest = ordered.splice(colours - 1)
  return [...ordered, { name: count(rest.length, 'other'), colour: 'rest', total: rest.reduce((sum, s) => sum + s.total, 0), points: rest.flatMap(s => s.points) }]
}

// Timelines are those of the selection, grouped by a label, and of the baseline.
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
    if (base) {
      this.base.show(largest(baseSeries), { ...base, step: stepOf(base) * 1000, unit })
      const both = [this.selection, this.base]
      const greatest = Math.max(...both.map(timeline => timeline.greatest))
      if (stepOf(base) === stepOf(selection)) both.forEach(timeline => Object.assign(timeline, { greatest }).draw()) // bars can be compared
    }
    const entries = home || base || !state.group ? [] : grouped
    byId('selected').querySelector('.legend').replaceChildren(...entries.map(s => element('span', {},
      element('span', { className: `key ${s.colour}` }),
      s.colour === 'rest' || !s.name ? s.name || '(none)' : element('a', { href: this.link({ select: added(state.select, state.group, s.name), group: '' }) }, s.name),
      ` ${value(s.total, unit)}`)))
  }
}
