// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Label selectors, such as {service_name="shop", pod=~"a.*"}: reading, writing and completion.

const quoted = /"(?:[^"\\\0-\x1f]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*"|'(?:[^'\\\0-\x1f]|\\['\\/bfnrt]|\\u[\da-fA-F]{4})*'|`[^`]*`/.source
const matcher = new RegExp(`^\\s*([\\w.:/-]+|${quoted})\\s*(=~|!~|!=|=)\\s*(${quoted})\\s*(?:,|$)`)

// unquote reads a text in quotes of any kind. A text without quotes stays.
function unquote (text) {
  if (!/^["'`]/.test(text)) return text
  const inner = text.slice(1, -1)
  return text[0] === '`' ? inner : JSON.parse(`"${inner.replace(/\\.|"/g, c => ({ "\\'": "'", '"': '\\"' })[c] ?? c)}"`)
}

// parse returns the selectors of a text, with or without braces, and a profile or its type before them. It throws an error that says what
// cannot be read.
export function parse (text) {
  const [, profile, inner] = /^([\w.:/-]*)\s*\{(.*)\}$/s.exec(text.trim()) ?? ['', '', text]
  const selectors = profile ? [{ name: profile.includes(':') ? '__profile_type__' : '__name__', operator: '=', value: profile }] : []
  let rest = inner
  while (rest.trim()) {
    const [found, name, operator, value] = matcher.exec(rest) ?? []
    if (!found) throw new Error(`Cannot read the selectors at: ${rest.trim()}. They look like pod="a", region=~"eu-.*"`)
    selectors.push({ name: unquote(name), operator, value: unquote(value) })
    rest = rest.slice(found.length)
  }
  return selectors
}

// printName quotes a name that has other characters than usual.
export function printName (name) {
  return /^[\w.:/-]+$/.test(name) ? name : JSON.stringify(name)
}

export function print (selectors) {
  return selectors.map(s => `${printName(s.name)}${s.operator}${JSON.stringify(s.value)}`).join(', ')
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

// split is the inverse of query, and finds a profile type. A text that cannot be read stays as it is.
export function split (text) {
  if (!isReadable(text)) return { select: text }
  const all = parse(text)
  const [service, type] = ['service_name', '__profile_type__'].map(name => all.find(s => s.name === name && s.operator === '='))
  return { service: service?.value ?? '', select: print(all.filter(s => s !== service && s !== type)), ...type && { type: type.value } }
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
  const found = /^\s*("(?:[^"\\]|\\.)*"|[\w.:/-]*)\s*(=~|!~|!=|=)?\s*"?([^"]*)$/.exec(text.slice(start, cursor))
  if (!found) return null
  const [, name, operator, value] = found
  const others = text.slice(0, start)
  return operator ? { name: unquote(name), operator, begun: value, others } : { begun: unquote(name || value), others }
}
