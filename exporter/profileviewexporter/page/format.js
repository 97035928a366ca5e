// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Values, shares and times in one form everywhere: a total reads the same in the graph, the table, the timeline and a tooltip.

const times = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's'], [60e9, 'min'], [3600e9, 'h']]
const bytes = [[1, 'B'], [2 ** 10, 'KiB'], [2 ** 20, 'MiB'], [2 ** 30, 'GiB'], [2 ** 40, 'TiB']]
const counts = [[1, ''], [1e5, 'k', 1e3], [1e6, 'M'], [1e9, 'G'], [1e12, 'T']] // counts below 100,000 have all of their digits
const factors = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 }

// scaleOf returns the divisor and the suffix for values of a magnitude. Rounding comes first: 999.9 ms is 1 s.
function scaleOf (magnitude, unit) {
  const factor = factors[unit] ?? 1
  const scales = unit in factors ? times : unit === 'bytes' ? bytes : counts
  const [size, suffix, divisor = size] = scales.findLast(scale => Number((magnitude * factor / scale[0]).toPrecision(3)) >= 1) ?? scales[0]
  return { divisor: divisor / factor, suffix: suffix && ` ${suffix}` }
}

// value writes a value with three digits and its unit, so that the decimals of a column stand below each other.
export function value (x, unit) {
  if (x < 0) return `−${value(-x, unit)}`
  const { divisor, suffix } = scaleOf(x, unit)
  const scaled = x / divisor
  return (scaled >= 1000 ? Math.round(scaled).toLocaleString('en-US') : Number.isInteger(x) && divisor === 1 ? x : scaled.toPrecision(3)) + (x ? suffix : '')
}

// round writes a round value, such as that of a tick, without zeros that say nothing.
export const round = (x, unit) => value(x, unit).replace(/\.(\d*?)0+(?= |$)/, (_, digits) => digits && `.${digits}`)

// change writes a value with its sign.
export function change (x, unit) {
  return x > 0 ? `+${value(x, unit)}` : value(x, unit)
}

// percent has one decimal, none from 100, or one digit below 0.1.
function percent (ratio) {
  const p = 100 * ratio
  return p < 0.1 ? Number(Math.max(p, 0.001).toPrecision(1)) : p.toFixed(p < 99.95 ? 1 : 0)
}

// share writes a part of a whole in percent.
export function share (part, whole) {
  return part && whole ? `${percent(part / whole)} %` : '0 %'
}

// signed writes the change of a ratio, such as a share in percentage points.
export function signed (x, unit = 'pp') {
  return Math.abs(x) < 1e-6 ? `0 ${unit}` : `${x > 0 ? '+' : '−'}${percent(Math.abs(x))} ${unit}`
}

// count writes a number of things.
export function count (n, one) {
  return `${n.toLocaleString('en-US')} ${one}${n === 1 ? '' : 's'}`
}

// unitOf returns the unit in the ID of a profile type.
export function unitOf (type) {
  return type.split(':')[2] ?? 'count'
}

// typeName is how a profile type is called: its profile and its values, such as "memory inuse_space".
export function typeName (type) {
  return type.split(':').slice(0, 2).join(' ')
}

// local writes a time of the local time zone as the fields for dates take it: nothing if no date has it.
export function local (ms) {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60e3)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 19)
}

// clock writes a time for people. Below a span of 10 minutes it has seconds, above one day it has the date.
export function clock (ms, span) {
  const text = local(ms)
  return span > 86400e3 ? text.slice(5, 16).replace('T', ' ') : text.slice(11, span < 600e3 ? 19 : 16)
}

// valueTicks returns at most five round values from 0 to the greatest.
export function valueTicks (greatest, unit) {
  const { divisor } = scaleOf(greatest, unit)
  const least = greatest / divisor / 4
  const power = 10 ** Math.floor(Math.log10(least))
  const step = power * [1, 2, 5, 10].find(n => n * power >= least * 0.999) * divisor
  return greatest > 0 ? Array.from({ length: Math.floor(greatest / step * 1.001) + 1 }, (_, i) => i * step) : []
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map(s => s * 1000)

// timeTicks returns at most so many round times between two others.
export function timeTicks (from, until, most) {
  const step = steps.find(s => (until - from) / s <= most) ?? Math.ceil((until - from) / most / 86400e3) * 86400e3
  const offset = new Date(from).getTimezoneOffset() * 60e3
  const first = Math.ceil((from - offset) / step) * step + offset
  return Array.from({ length: Math.max(Math.floor((until - first) / step) + 1, 0) }, (_, i) => first + i * step)
}

// Numbers says the values of functions and boxes, their shares and changes. whole has the totals of all stacks: value, and base.
export class Numbers {
  constructor (unit, whole, compared, byShare) {
    Object.assign(this, { unit, whole, compared, byShare })
  }

  now (x) {
    return this.byShare ? this.share(x) : value(x, this.unit)
  }

  base (x) {
    return this.byShare ? share(x, this.whole.base) : value(x, this.unit)
  }

  share (x) {
    return share(x, this.whole.value)
  }

  // difference returns the change of a value as a number: of shares, or absolute.
  difference (x, base) {
    return this.byShare ? x / (this.whole.value || 1) - base / (this.whole.base || 1) : x - base
  }

  change (x, base) {
    return this.byShare ? signed(this.difference(x, base)) : change(x - base, this.unit)
  }

  // both writes a value with its share, or with that of the baseline.
  both (x, base) {
    return this.compared ? `${this.base(base)} → ${this.now(x)}` : `${this.now(x)}, ${this.share(x)}`
  }

  // lines describe a box, line by line. The first line of a comparison has the headings.
  lines ({ total, self, base_total: baseTotal, base_self: baseSelf }) {
    if (!this.compared) return [['Total', this.now(total), this.share(total)], ['Self', this.now(self), this.share(self)]]
    const line = (name, x, base) => [name, this.base(base), this.now(x), this.change(x, base)]
    return [['', 'Baseline', 'Selection', 'Change'], line('Total', total, baseTotal), line('Self', self, baseSelf)]
  }
}
