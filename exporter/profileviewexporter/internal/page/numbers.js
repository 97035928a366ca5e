// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// What is said about a function or a box: its values, their shares and, in a comparison, their changes. Tooltips and tables agree.

import { change, share, signed, value } from './format.js'

// Numbers writes values of a unit. whole has the totals of all stacks: value, and base for the baseline.
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
