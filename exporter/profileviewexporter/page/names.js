// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Short forms of function names for narrow boxes. The whole name stays in tooltips, tables and what is copied.

// folded returns a name with … for what stands in brackets, however deep: type arguments of Go, C++ and Rust, and parameters.
// The brackets of a receiver, as in (*Map[…]).Load, stay.
function folded (name) {
  let out = ''
  let depth = 0
  for (let i = 0; i < name.length; i++) {
    const c = name[i]
    // < and > can be an arrow or an operator of C++, and not brackets.
    const operator = (c === '<' || c === '>') && /(-|operator[<>=-]*)$/.test(name.slice(Math.max(0, i - 12), i))
    if (depth === 0 && isReceiver(name, i)) {
      const end = closing(name, i)
      out += `(${path(folded(name.slice(i + 1, end)))})`
      i = end
    } else if ('[{<('.includes(c) && !operator) {
      if (depth++ === 0) out += c
    } else if (']}>)'.includes(c) && depth > 0 && !operator) {
      if (--depth === 0) out += name[i - 1] === '[{<('[']}>)'.indexOf(c)] ? c : `…${c}`
    } else if (depth === 0) {
      out += c
    }
  }
  return depth > 0 ? `${out}…` : out
}

// isReceiver returns whether a parenthesis begins a receiver of Go, (T).Method or (*T).Method.
function isReceiver (name, i) {
  return name[i] === '(' && (i === 0 || name[i - 1] === '.' || name[i - 1] === '/') && name[closing(name, i) + 1] === '.'
}

function closing (name, open) {
  let depth = 0
  for (let i = open; i < name.length; i++) {
    if ('[{('.includes(name[i])) depth++
    if (']})'.includes(name[i]) && --depth === 0) return i
  }
  return name.length
}

// path removes the directories of a package: "net/http.Get" is "http.Get". A version is not the name of a package.
function path (name) {
  const bracket = name.search(/[[{<(]/)
  const head = bracket < 0 ? name : name.slice(0, bracket)
  if (head.includes(' ') && !head.startsWith('*')) return name
  const parts = head.split('/')
  let last = parts.pop()
  if (/^v\d+\./.test(last) && parts.length > 0) last = parts.pop() + last.slice(last.indexOf('.'))
  return (name.startsWith('*') && !last.startsWith('*') ? '*' : '') + last + name.slice(head.length)
}

// bare removes the package of Go or the namespaces of C++ and Rust: what remains is the function with its type.
function bare (short) {
  const bracket = short.search(/[[{<(]/)
  const head = bracket < 0 ? short : short.slice(0, bracket)
  const colons = head.split('::')
  if (colons.length > 2) return colons.slice(-2).join('::') + short.slice(head.length)
  const dot = head.indexOf('.')
  return dot > 0 && dot < short.length - 1 ? short.slice(dot + 1) : short
}

// last removes the type of a method. The number of a function literal says nothing without the function around it.
function last (name) {
  return /(?:^|[.)])([^.[\](){}<>…]+(?:\[…\])?(?:\.(?:func|gowrap)?\d+|-fm|-range\d+)*)$/.exec(name)?.[1] ?? name
}

// forms returns a name from its longest to its shortest form.
export function forms (name) {
  const whole = name.replaceAll('%2e', '.')
  const short = path(folded(whole.slice(0, 1000))) // names can be hostile
  return [whole, short, bare(short), last(short)]
}

// fitting returns the longest form that has at most so many characters, or the beginning of the shortest one.
export function fitting (names, most) {
  for (const name of names) if (name.length <= most) return name
  const last = names.at(-1)
  return most < 4 ? '' : `${last.slice(0, most - 1)}…`
}

// hash returns a number for a name.
export function hash (name) {
  let hash = 2166136261
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619)
  return hash >>> 0
}

// packageOf returns what a function belongs to: the boxes of a package have one colour.
export function packageOf (name) {
  const head = name.replace(/[[{<(].*$/s, '')
  const slash = head.lastIndexOf('/')
  const end = head.slice(slash + 1).search(/\.|::/)
  return end < 0 ? head : head.slice(0, slash + 1 + end)
}
