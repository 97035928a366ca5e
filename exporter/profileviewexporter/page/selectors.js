// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Label selectors, such as {service_name="shop", pod=~"a.*"}: reading, writing and completion.

const matcher = /^\s*([a-zA-Z_][\w.:/-]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\["\\/bfnrtu])*")\s*(,|$)/

// parse returns the selectors of a text, with or without braces. It throws an error that says what cannot be read.
export function parse (text) {
  const selectors = []
  let rest = text.trim().replace(/^\{(.*)\}$/s, '$1')
  while (rest.trim()) {
    const [found, name, operator, value] = matcher.exec(rest) ?? []
    if (!found) throw new Error(`Cannot read the selectors at: ${rest.trim()}. They look like pod="a", region=~"eu-.*"`)
    selectors.push({ name, operator, value: JSON.parse(value) })
    rest = rest.slice(found.length)
  }
  return selectors
}

export function print (selectors) {
  return selectors.map(s => `${s.name}${s.operator}${JSON.stringify(s.value)}`).join(', ')
}

// valuesOf returns the values that labels must have, by label.
export function valuesOf (text) {
  return Object.fromEntries(parse(text).filter(s => s.operator === '=').map(s => [s.name, s.value]))
}

// added returns a text with one selector more. It replaces others of the same label.
export function added (text, name, value) {
  return print([...parse(text).filter(s => s.name !== name), { name, operator: '=', value }])
}

// query returns the selector of a service and of the selectors that a user wrote.
export function query (service, text) {
  const ofService = service ? [{ name: 'service_name', operator: '=', value: service }] : []
  return `{${print([...ofService, ...parse(text)])}}`
}

// isReadable returns whether parse can read a text.
export function isReadable (text) {
  try {
    return Boolean(parse(text))
  } catch {
    return false
  }
}

// split is the inverse of query. A text that cannot be read stays as it is.
export function split (text) {
  if (!isReadable(text)) return { select: text }
  const all = parse(text)
  const [service] = all.filter(s => s.name === 'service_name' && s.operator === '=')
  return { service: service?.value ?? '', select: print(all.filter(s => s !== service)) }
}

// completing returns what the text before the cursor begins: a name, or a value of a name, and the selectors before it.
export function completing (text, cursor) {
  let start = 0
  let quoted = false
  for (let i = 0; i < cursor; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') quoted = !quoted
    else if (text[i] === ',' && !quoted) start = i + 1
  }
  const found = /^\s*([\w.:/-]*)\s*(=~|!~|!=|=)?\s*"?([^"]*)$/.exec(text.slice(start, cursor))
  if (!found) return null
  const [, name, operator, value] = found
  return operator ? { name, operator, begun: value, others: text.slice(0, start) } : { begun: name, others: text.slice(0, start) }
}
