// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The bar: the selection, its profile type, the baseline of a comparison, and downloads.

import { download } from './api.js'
import { byId, element } from './dom.js'
import { fields } from './fields.js'
import { typeName } from './format.js'
import { best } from './services.js'

const formats = { pprof: 'pprof', collapsed: 'Collapsed stacks', speedscope: 'speedscope', svg: 'SVG', pgo: 'default.pgo for go build' }

export class Bar {
  // go changes the state, timed returns a selection with its time in milliseconds.
  constructor (go, timed) {
    this.services = new Map()
    const change = changes => go({ ...changes, zoom: '' })
    const source = side => () => ({ services: [...this.services.keys()], selection: timed(side()) })
    // A service that lacks the type is shown with one that it has.
    const typeOf = service => this.services.has(service) && { type: best(this.services.get(service), this.state.type) }
    this.selection = fields(byId('selection'), source(() => this.state), changes => change({ ...changes, ...typeOf(changes.service) }))
    this.baseline = fields(byId('baseline'), source(() => this.state.base), changes => change({ base: { ...this.state.base, ...changes } }))
    const swap = () => {
      const { base, service, select, from, until } = this.state
      change({ ...base, base: { service, select, from, until } })
    }
    byId('baseline').append(element('button', { type: 'button', onclick: swap }, 'Swap'))
    byId('type').addEventListener('change', event => change({ type: event.target.value }))
    byId('group').addEventListener('change', event => go({ group: event.target.value }))
    document.addEventListener('keydown', event => { if (event.key === 'Escape') byId('downloads').open = false })
  }

  show (state, selection, base, home) {
    this.state = state
    document.title = `${state.service || 'All services'} ${state.type && typeName(state.type)} – profiles`
    document.body.classList.toggle('comparing', Boolean(base))
    document.body.classList.toggle('home-page', home)
    this.selection(state, selection)
    if (base) this.baseline(state.base, base)
    byId('compare').setAttribute('aria-pressed', String(Boolean(base)))
    byId('compare').textContent = base ? 'Stop comparing' : 'Compare'
    const search = byId('search')
    if (document.activeElement !== search) search.value = state.search
    search.placeholder = home ? 'Search services' : 'Search functions'
  }

  // showMenus fills the menus of types, labels and downloads. What the state has is there even if it has no profiles.
  showMenus (services, labels, selection) {
    const { service, type, group } = this.state
    this.services = services
    const types = new Set(service ? services.get(service) : [...services.values()].flat()).add(type)
    const options = (all, chosen, nameOf) => all.map(value => element('option', { value, selected: value === chosen }, nameOf(value)))
    byId('type').replaceChildren(...options([...types].sort((a, b) => typeName(a).localeCompare(typeName(b))), type, typeName))
    byId('group').replaceChildren(...options(['', ...new Set([...labels, group])].filter((name, i) => name || i === 0), group, name => name || 'nothing'))
    const offered = Object.entries(formats).filter(([format]) => format !== 'pgo' || type.includes('cpu'))
    byId('downloads').lastElementChild.replaceChildren(...offered.map(([format, text]) => element('a', { href: download(format, type, selection), download: '' }, text)))
  }
}
