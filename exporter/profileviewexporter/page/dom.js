// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for elements, and a text field with a list of completions below it, for the keyboard, the pointer and screen readers.

// element makes an element: properties by name, attributes where there is no property, and children. Text is never HTML.
export function element (tag, properties = {}, ...children) {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name in e) e[name] = value
    else e.setAttribute(name, value)
  }
  e.append(...children.flat().filter(c => c || c === 0))
  return e
}

// drawing makes an element of SVG.
export function drawing (tag, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value)
  e.append(...children)
  return e
}

export const byId = id => document.getElementById(id)

// place puts an element beside a point of the window, all of it inside.
export function place (e, x, y) {
  e.hidden = false
  const { width, height } = e.getBoundingClientRect()
  e.style.left = `${Math.max(Math.min(x + 8, innerWidth - width - 8), 4)}px`
  e.style.top = `${y + 16 + height <= innerHeight ? y + 16 : Math.max(y - height - 12, 4)}px`
}

// choices makes radio buttons of a fieldset that look like one switch. It returns a function that shows
// which one a state has, under the ID of the fieldset.
export function choices (fieldset, options, choose) {
  for (const [value, text] of Object.entries(options)) {
    const input = element('input', { type: 'radio', name: fieldset.id, value, onchange: () => choose(value) })
    fieldset.append(element('label', {}, input, element('span', {}, text)))
  }
  return state => { for (const input of fieldset.elements) input.checked = input.value === state[fieldset.id] }
}

// moreButton is a button for the rows of a table that are not shown yet.
export function moreButton (left, more) {
  return left > 0 && element('button', { type: 'button', className: 'more', onclick: more }, `Show more (${left.toLocaleString('en-US')} left)`)
}

let lists = 0

// combobox adds completions to a field. complete(text, cursor, changed, signal) returns a promise of options: { label, text, done },
// where text is what the field has after the choice, and done means that nothing follows. commit(text) takes what was entered.
// combobox returns a function that sets the text.
export function combobox (input, complete, commit) {
  const list = element('ul', { className: 'completions', id: `completions-${++lists}`, role: 'listbox', 'aria-label': input.getAttribute('aria-label'), hidden: true })
  input.after(list)
  for (const [name, value] of Object.entries({ role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': list.id })) {
    input.setAttribute(name, value)
  }
  let options = []
  let active = -1
  let asked = new AbortController()
  let entered = ''

  const close = () => {
    asked.abort()
    list.hidden = true
    activate(-1)
    input.setAttribute('aria-expanded', 'false')
  }
  const activate = index => {
    active = index
    Array.from(list.children).forEach((option, i) => option.setAttribute('aria-selected', i === index))
    if (index < 0) return input.removeAttribute('aria-activedescendant')
    input.setAttribute('aria-activedescendant', list.children[index].id)
    list.children[index].scrollIntoView({ block: 'nearest' })
  }
  const open = async () => {
    asked.abort()
    const { signal } = asked = new AbortController()
    const found = await complete(input.value, input.selectionStart, input.value !== entered, signal).catch(() => [])
    if (signal.aborted || document.activeElement !== input) return
    options = found
    list.replaceChildren(...options.map((option, i) => element('li', {
      role: 'option', id: `${list.id}-${i}`, onpointerdown: event => { event.preventDefault(); choose(option) }
    }, option.label)))
    list.hidden = options.length === 0
    input.setAttribute('aria-expanded', String(!list.hidden))
    activate(-1)
  }
  const enter = () => {
    close()
    if (input.value === entered) return
    entered = input.value
    commit(input.value)
  }
  const choose = option => {
    input.value = option.text
    if (option.done) enter()
    else open()
  }
  const keys = {
    ArrowDown: () => list.hidden ? open() : activate((active + 1) % options.length),
    ArrowUp: () => !list.hidden && activate((active <= 0 ? options.length : active) - 1),
    Enter: () => active >= 0 ? choose(options[active]) : enter(),
    Escape: () => list.hidden ? input.value = entered : close()
  }
  input.addEventListener('keydown', event => {
    if (!(event.key in keys)) return
    event.preventDefault()
    keys[event.key]()
  })
  input.addEventListener('focus', () => { entered = input.value; input.select() })
  input.addEventListener('click', open)
  input.addEventListener('input', open)
  input.addEventListener('blur', enter)
  return text => { input.value = entered = text }
}
