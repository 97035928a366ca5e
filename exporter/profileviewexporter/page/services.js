// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The list of services: one row for each, with its profiles, its total and its values over time.

import { drawing, element, moreButton } from './dom.js'
import { count, share, value } from './format.js'

const page = 100

export class Services {
  constructor (holder, link) {
    Object.assign(this, { holder, link, most: page })
  }

  // show takes the types of each service, and the series of each for the type that is chosen.
  show (parts) {
    this.parts = parts
    const { services, series, search, unit, range, type } = parts
    const bySeries = new Map(series.map(s => [s.name, s]))
    const totalOf = name => bySeries.get(name)?.total ?? -1
    const whole = series.reduce((sum, s) => sum + s.total, 0)
    const names = [...services.keys()].filter(name => name.toLowerCase().includes(search.toLowerCase()))
      .sort((a, b) => totalOf(b) - totalOf(a) || a.localeCompare(b))
    const more = moreButton(names.length - this.most, () => { this.most += 5 * page; this.show(this.parts) })
    const link = (service, type, text) => element('a', { href: this.link({ service, type, search: '' }) }, text)
    const number = x => [value(x, unit), ' ', element('span', { className: 'share' }, share(x, whole))]
    const rows = names.slice(0, this.most).map(name => element('tr', {},
      element('th', { scope: 'row' }, link(name, best(services.get(name), type), name)),
      element('td', { className: 'number' }, bySeries.has(name) ? number(totalOf(name)) : '–'),
      element('td', {}, spark(bySeries.get(name)?.points ?? [], range)),
      element('td', { className: 'profiles' }, profiles(services.get(name)).map(([profile, id]) => link(name, id, profile)))))
    const columns = [['Service', ''], ['Total', 'number'], ['Over time', ''], ['Profiles', 'profiles']]
    const head = columns.map(([title, className]) => element('th', { scope: 'col', className }, title))
    const table = element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, rows))
    this.holder.replaceChildren(
      element('p', { className: 'muted' }, search ? `${count(names.length, 'service')} of ${services.size}` : count(services.size, 'service')),
      names.length > 0 ? element('div', { className: 'wide' }, table) : '', more || '')
  }
}

const profileOf = type => type.split(':')[0]

// profiles returns the profiles of a service by name, each with one of its types.
function profiles (types) {
  return [...new Set(types.map(profileOf))].map(profile => [profile, best(types.filter(type => profileOf(type) === profile))])
}

const favourites = ['cpu', 'inuse_space', 'alloc_space', 'delay']

// best returns the type that is wanted, else the one that most users look at first.
export function best (types, wanted) {
  if (types.includes(wanted)) return wanted
  const rank = id => {
    const at = favourites.indexOf(id.split(':')[1])
    return at < 0 ? favourites.length : at
  }
  return types.toSorted((a, b) => rank(a) - rank(b))[0] ?? ''
}

// spark draws values as a small line of bars without axes; the timeline above has those.
function spark (points, { from, until }) {
  const greatest = Math.max(...points.map(p => p.value), 1)
  const path = points.map(({ time, value }) => `M${Math.min(Math.max((time - from) / (until - from) * 118, 0), 118)} 20v${-Math.max(value / greatest * 18, 1)}`).join('')
  return drawing('svg', { class: 'sparkline', viewBox: '0 0 120 20', 'aria-hidden': 'true' }, drawing('path', { d: path }))
}
