// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The page: it reads the state from the URL, asks for what it needs, and shows it. Every change goes through the URL.

import * as api from './api.js'
import { Bar, presets } from './bar.js'
import { byId, element } from './dom.js'
import { round, typeName, unitOf } from './format.js'
import { valuesOf } from './selectors.js'
import { Services, best } from './services.js'
import { Stacks } from './stacks.js'
import { before, check, moment, read, write } from './state.js'
import { Timelines, stepOf } from './timeline.js'
import { decode } from './tree.js'

let [state, now, turn] = [read(location.search), Date.now(), 0]
const loads = new Map()

const link = changes => write({ ...state, ...changes })

// go changes the state. Back returns to the state before, unless the change replaces it.
function go (changes, replace = false) {
  visit(link(changes), replace)
}

function visit (url, replace = false) {
  const selected = ({ service, select, from, until, base }) => JSON.stringify([service, select, from, until, base])
  const old = selected(state)
  history[replace ? 'replaceState' : 'pushState'](null, '', url)
  state = read(location.search)
  if (selected(state) !== old) now = Date.now()
  show()
}

// timed returns a selection with its time in milliseconds.
const timed = ({ service, select, from, until }) => ({ service, select, from: moment(from, now), until: moment(until, now) })

// load asks for something unless it was asked for already. What the same name asked for before is cancelled.
function load (name, ask, ...questions) {
  const key = JSON.stringify(questions)
  const old = loads.get(name)
  if (old?.key === key) {
    old.turn = turn
    return old.answer
  }
  old?.controller.abort()
  const controller = new AbortController()
  const answer = ask(...questions, controller.signal)
  loads.set(name, { key, controller, answer, turn })
  answer.catch(() => { if (loads.get(name)?.answer === answer) loads.delete(name) })
  return answer
}

function cancel (unneeded) {
  loads.forEach((load, name) => {
    if (!unneeded(load)) return
    load.controller.abort()
    loads.delete(name)
  })
}

const bar = new Bar(go, timed)
const timelines = new Timelines(go, link)
const stacks = new Stacks(go, link)
const list = new Services(byId('services'), link)

byId('refresh').addEventListener('click', () => { now = Date.now(); cancel(() => true); show() })
byId('compare').addEventListener('click', () => {
  const { service, select } = state
  go({ base: state.base ? null : { service, select, ...before(state, now) }, zoom: '' })
})
byId('search').addEventListener('input', event => go({ search: event.target.value }, true))
addEventListener('popstate', () => { state = read(location.search); show() })
document.addEventListener('click', event => {
  const anchor = event.target.closest?.('a[href^="?"]')
  if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  visit(anchor.getAttribute('href'))
})

// show loads and shows the state, and cancels what only an earlier state needed.
function show () {
  turn++
  update() // it asks for all before it waits
  cancel(load => load.turn !== turn)
}

// update shows parts as they arrive, unless the state has changed meanwhile.
async function update () {
  const mine = turn
  const current = () => mine === turn
  const selection = timed(state)
  const base = state.base && timed(state.base)
  const home = !state.service && !state.select // nothing is selected: the page lists the services
  byId('message').replaceChildren()
  document.querySelector('main').setAttribute('aria-busy', 'true')
  bar.show(state, selection, base, home)
  const services = load('services', api.services, { from: selection.from, until: selection.until })
  const whenCurrent = (parts, use) => Promise.all(parts).then(answers => { if (current()) use(...answers) })
  const menus = labels => whenCurrent([services, labels], (found, names) => bar.showMenus(found, names, selection))
  try {
    for (const side of base ? [state, state.base] : [state]) check(side) // an error is shown before stacks are asked for
    if (!state.type) {
      const found = await services
      const types = state.service ? found.get(state.service) ?? [] : [...found.values()].flat()
      if (current()) go({ type: best(types) || 'process_cpu:cpu:nanoseconds:cpu:nanoseconds' }, true)
      return
    }
    const labels = home ? [] : load('labels', api.labelNames, state.type, selection)
    const group = home ? 'service_name' : base ? '' : state.group
    const series = load('series', api.series, state.type, selection, stepOf(selection), group)
    const baseSeries = base && load('base', api.series, state.type, base, stepOf(base), '')
    await Promise.all([
      menus(labels),
      whenCurrent([series, baseSeries], (values, baseValues) => timelines.show(state, selection, values, base, baseValues, home)),
      home ? whenCurrent([services, series], (found, values) => showServices(selection, found, values)) : showStacks(selection, base, whenCurrent)
    ])
  } catch (error) {
    if (!current() || error.name === 'AbortError') return
    only(null, element('p', {}, error.message))
    menus([]).catch(() => {})
  }
  if (current()) document.querySelector('main').setAttribute('aria-busy', 'false')
}

// only shows one of the main parts, or a message instead.
function only (part, message) {
  document.body.classList.toggle('empty', !part)
  for (const id of ['services', 'stacks']) byId(id).hidden = id !== part
  if (message) byId('message').replaceChildren(message)
}

function showServices (selection, services, series) {
  if (services.size === 0) return only(null, nothing(selection, 'No profiles of any service'))
  only('services')
  list.show({ services, series, search: state.search, unit: unitOf(state.type), type: state.type, range: selection })
}

function showStacks (selection, base, whenCurrent) {
  const { type, focus } = state
  const graph = load('graph', (...question) => api.flamegraph(...question).then(answer => decode(answer, Boolean(base))), type, selection, base)
  const functions = load('functions', api.functions, type, selection, base, '')
  const calls = focus && load('calls', api.functions, type, selection, base, focus)
  const info = valuesOf(state.select).trace_id && load('info', api.info)
  const show = (tree, ...tables) => {
    if (tree.value[0] + tree.base[0] === 0) return only(null, nothing(selection, `No ${typeName(state.type)} of ${state.service || 'any service'}`))
    only('stacks')
    stacks.show(state, tree, ...tables)
  }
  return Promise.all([whenCurrent([graph], show), whenCurrent([graph, functions, calls, info], show)])
}

function nothing (selection, what) {
  const other = (text, href) => [' ', element('a', { href }, text)]
  return element('p', {}, `${what} in these ${round((selection.until - selection.from) * 1e6, 'nanoseconds')}.`,
    ...['-1h', '-24h'].flatMap(from => other(presets[from], link({ from, until: 'now' }))), ...state.service ? other('All services', '?') : [])
}

show()
