// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Small helpers for elements.

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
