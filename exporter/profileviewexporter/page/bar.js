// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The bar: the selection, its profile type, the baseline of a comparison, and downloads.

import { download, labelNames, labelValues } from './api.js'
import { byId, combobox, element } from './dom.js'
import { clock, local, typeName } from './format.js'
import { completing, isReadable, print, printName } from './selectors.js'
import { best } from './services.js'
import { ago } from './state.js'

const formats = { pprof: 'pprof', collapsed: 'Collapsed stacks', speedscope: 'speedscope', svg: 'SVG', pgo: 'default.pgo for go build' }

export class Bar {
  // go changes the state, timed returns a selection with its time in milliseconds.
  constructor (go, timed) {
    this.services = new Map()
    const change = changes => go({ ...changes, zoom: '' })
    const source = side => () => ({ services: [...this.services.keys()], type: this.state.type, selection: timed(side()) })
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

export const presets = { '-5m': 'Last 5 min', '-15m': 'Last 15 min', '-1h': 'Last hour', '-3h': 'Last 3 hours', '-6h': 'Last 6 hours', '-24h': 'Last 24 hours' }
const names = { s: 's', m: 'min', h: 'h', d: 'd' }

// fields adds the fields of a selection to an element: service, selectors and time. The baseline of a comparison has the same. source
// returns what completions need: services, the type, and the selection with its time in milliseconds. go takes changes of the selection.
// The result shows a selection.
function fields (holder, source, go) {
  const service = element('input', { type: 'text', className: 'service', placeholder: 'All services', spellcheck: false, autocomplete: 'off', 'aria-label': 'Service' })
  const select = element('input', { type: 'text', className: 'selectors', placeholder: 'pod="a"', title: 'Such as pod="a", region=~"eu-.*"', spellcheck: false, autocomplete: 'off', 'aria-label': 'Selectors' })
  const from = element('input', { type: 'datetime-local', step: 1, required: true, oninput: () => { until.min = from.value } })
  const until = element('input', { type: 'datetime-local', step: 1, required: true })
  const apply = event => {
    event.preventDefault()
    go({ from: String(Date.parse(from.value)), until: String(Date.parse(until.value)) })
  }
  const other = element('form', { className: 'times', hidden: true, onsubmit: apply },
    element('label', {}, 'From ', from), element('label', {}, 'Until ', until), element('button', {}, 'Apply'))
  const time = element('select', {
    onchange: () => {
      other.hidden = time.value !== 'other'
      if (time.value in presets) go({ from: time.value, until: 'now' })
      else from.focus()
    }
  })
  const field = (text, input) => element('div', { className: `field ${input.className}` }, element('span', { 'aria-hidden': true }, text), input)
  holder.prepend(field('Service', service))
  holder.insertBefore(field('Selectors', select), holder.querySelector('#group-field'))
  holder.append(element('label', {}, 'Time ', time), other)

  const showService = combobox(service, async (text, cursor, changed) => {
    const found = source().services.filter(name => !changed || name.toLowerCase().includes(text.toLowerCase())).slice(0, 100)
    return [...(changed ? [] : ['']), ...found].map(name => ({ label: name || 'All services', text: name, done: true }))
  }, text => go({ service: text.trim() }))
  const showSelect = combobox(select, (text, cursor, changed, signal) => selectorOptions(text, cursor, source(), signal), text => go({ select: text.trim() }))

  return (state, range) => {
    showService(state.service)
    showSelect(state.select)
    select.setAttribute('aria-invalid', String(!isReadable(state.select)))
    showTimes(time, state, range)
    other.hidden = true
    from.value = local(range.from)
    until.value = local(range.until)
    until.min = from.value
  }
}

async function selectorOptions (text, cursor, { type, selection }, signal) {
  const part = completing(text, cursor)
  if (!part) return []
  const others = { ...selection, select: isReadable(part.others) ? part.others : '' }
  const found = part.name ? await labelValues(type, part.name, others, signal) : await labelNames(type, others, signal)
  const before = part.others.trim() && `${part.others.trim()} `
  const rest = text.slice(cursor).replace(/^[\w"]*/, '')
  const begun = part.begun.toLowerCase()
  return found.filter(option => option.toLowerCase().includes(begun)).slice(0, 100).map(option => {
    const written = part.name ? print([{ ...part, value: option }]) : `${printName(option)}=`
    return { label: option, text: before + written + rest, done: Boolean(part.name) }
  })
}

// showTimes fills the menu of times: the usual ones, that of the state if it is another, and a way to others.
function showTimes (time, { from, until }, range) {
  const options = Object.entries(presets).map(([value, text]) => element('option', { value }, text))
  const usual = until === 'now' && from in presets
  if (!usual) options.unshift(element('option', { value: 'this' }, timeName(from, until, range)))
  time.replaceChildren(...options, element('option', { value: 'other' }, 'Other …'))
  time.value = usual ? from : 'this'
}

function timeName (from, until, range) {
  const [start, end] = [ago.exec(from), ago.exec(until)]
  if (start && end) return `${start[1]} to ${end[1]} ${names[end[2]]} ago`
  if (start && until === 'now') return `Last ${start[1]} ${names[start[2]]}`
  if (Number.isNaN(range.until - range.from)) return `${from} – ${until}`
  const span = Math.max(range.until - range.from, Date.now() - range.from > 86400e3 ? 86401e3 : 0)
  return `${clock(range.from, span)} – ${clock(range.until, span)}`
}
