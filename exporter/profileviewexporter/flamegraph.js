// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Makes the flame graph of google/pprof work with a keyboard: the arrow keys move from box to box, Enter zooms in, Escape goes
// back, and a screen reader reads the function and its values. If there is a table beside the graph, a function that has the
// pointer, matches the search or is selected in one is marked in the other.
(() => {
  const chart = document.getElementById('stack-chart')
  if (!chart) return
  const holder = document.getElementById('stack-holder')
  const menu = document.getElementById('action-menu')
  const search = document.getElementById('search')
  const nameShown = document.getElementById('current-details-left')
  const valuesShown = document.getElementById('current-details-right')
  const rootBelow = document.documentElement.classList.contains('flame')
  const rowHeight = 20
  const attributes = ['role', 'tabindex', 'aria-label', 'aria-level']
  let current = null // the box that Tab moves to
  let lines = null // the boxes of each height, from the root to the leaves
  let zooms = 0 // the number of steps that Escape can go back
  let refocus = false // whether the focus was in the graph before a redraw
  let byKey = false // whether a key opened the menu of a box

  const place = box => ({ left: parseFloat(box.style.left), top: parseFloat(box.style.top), width: parseFloat(box.style.width) })
  const isBox = element => element.classList.contains('boxbg')
  const point = (box, event) => box.dispatchEvent(new MouseEvent(event))

  // index collects the boxes of each height. They are in order on the page.
  function index () {
    if (lines) return lines
    const byTop = new Map()
    for (const box of chart.children) {
      if (!isBox(box)) continue
      const { top } = place(box)
      if (!byTop.has(top)) byTop.set(top, [])
      byTop.get(top).push(box)
    }
    lines = Array.from(byTop.keys()).sort((a, b) => a - b).map(top => byTop.get(top))
    return lines
  }

  // select makes Tab move to a box. The tooltip of the box becomes its accessible name.
  function select (box, focused) {
    if (current) {
      point(current, 'mouseleave')
      for (const name of attributes) current.removeAttribute(name)
    }
    current = box
    point(box, 'mouseenter')
    box.setAttribute('role', 'treeitem')
    box.setAttribute('tabindex', '0')
    box.setAttribute('aria-level', String(index().findIndex(line => line.includes(box)) + 1))
    box.setAttribute('aria-label', `${nameShown.textContent}, ${valuesShown.textContent.replaceAll(' │ ', ', ')}`)
    const name = functionShown()
    if (focused) box.focus()
    else point(box, 'mouseleave')
    return name
  }

  // beside returns the box of another height with the largest overlap above or below a box.
  function beside (box, line) {
    const { left, width } = place(box)
    let best = null
    let most = 0
    for (const other of line || []) {
      const there = place(other)
      const overlap = Math.min(left + width, there.left + there.width) - Math.max(left, there.left)
      if (overlap > most) [best, most] = [other, overlap]
    }
    return best
  }

  // neighbour returns the box that an arrow key moves to from a box, or null.
  function neighbour (box, key) {
    const line = index().findIndex(boxes => boxes.includes(box))
    const at = lines[line].indexOf(box)
    switch (key) {
      case 'ArrowLeft': return lines[line][at - 1]
      case 'ArrowRight': return lines[line][at + 1]
      case 'ArrowDown': return beside(box, lines[line + (rootBelow ? -1 : 1)])
      case 'ArrowUp': return beside(box, lines[line + (rootBelow ? 1 : -1)])
      case 'Home': return pivot()
    }
    return null
  }

  // pivot returns the root of the graph, or the box that the user zoomed into.
  function pivot () {
    const separator = chart.querySelector('.separator')
    const top = separator ? parseFloat(separator.style.top) + rowHeight : 0
    const line = index().find(boxes => place(boxes[0]).top === top) || lines[0]
    return line && line[0]
  }

  // open shows the functions that an expression matches, and adds the expression to the URL.
  function open (expression) {
    const url = new URL(window.location.href)
    if (expression) url.searchParams.set('p', expression)
    else url.searchParams.delete('p')
    window.history.pushState('', '', url.href)
    window.dispatchEvent(new PopStateEvent('popstate'))
  }

  function zoom (box) {
    refocus = true
    zooms++
    point(box, 'mousedown') // without it, google/pprof treats the click as the end of a drag
    box.click()
  }

  function back () {
    if (!new URL(window.location.href).searchParams.has('p')) return
    refocus = true
    if (zooms > 0) {
      zooms--
      window.history.back()
    } else {
      open('')
    }
  }

  function closeMenu () {
    document.body.dispatchEvent(new MouseEvent('mousedown', { bubbles: true }))
    if (current) current.focus()
  }

  chart.addEventListener('keydown', event => {
    const box = event.target
    if (!isBox(box) || event.ctrlKey || event.altKey || event.metaKey) return
    byKey = event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)
    if (event.key === 'Enter' || event.key === ' ') zoom(box)
    else if (event.key === 'Escape') back()
    else if (/^(Arrow|Home$)/.test(event.key)) {
      const next = neighbour(box, event.key)
      if (next) select(next, true)
    } else return
    event.preventDefault()
  })
  chart.addEventListener('contextmenu', () => {
    const first = menu.querySelector('a')
    if (byKey && first) first.focus()
    byKey = false
  })
  menu.addEventListener('keydown', event => { if (event.key === 'Escape') closeMenu() })
  chart.addEventListener('focusin', event => { if (isBox(event.target)) point(event.target, 'mouseenter') })
  chart.addEventListener('focusout', event => { if (isBox(event.target)) point(event.target, 'mouseleave') })

  // The rows of the table beside the graph, by the name of the function.
  const links = new Map()
  for (const link of document.querySelectorAll('#functions tbody a')) links.set(link.textContent, link)
  const rowOf = name => links.get(name)?.closest('tr')
  const functionShown = () => nameShown.textContent.replace(/ \(inlined\)$/, '')
  let marked = null // the row of the box with the pointer
  let chosen = null // the link of the selected function

  function pattern () {
    try {
      return search.value ? new RegExp(search.value) : null
    } catch {
      return null // incomplete while the user types
    }
  }

  function filterRows () {
    const wanted = pattern()
    for (const [name, link] of links) link.closest('tr').hidden = wanted !== null && !wanted.test(name)
  }

  function highlight (name, on) {
    const wanted = pattern()
    window.highlightFunction(name, on || (wanted !== null && wanted.test(name)))
  }

  function choose (name) {
    chosen?.removeAttribute('aria-current')
    chosen = links.get(name)
    chosen?.setAttribute('aria-current', 'true')
    rowOf(name)?.scrollIntoView({ block: 'nearest' })
  }

  for (const [name, link] of links) {
    const row = link.closest('tr')
    row.addEventListener('mouseenter', () => highlight(name, true))
    row.addEventListener('mouseleave', () => highlight(name, false))
    link.addEventListener('focus', () => highlight(name, true))
    link.addEventListener('blur', () => highlight(name, false))
    link.addEventListener('click', event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      zooms++
      open(new URL(link.href).searchParams.get('p'))
    })
  }
  if (links.size > 0) {
    search.addEventListener('input', filterRows)
    new MutationObserver(() => {
      marked?.classList.remove('marked')
      marked = rowOf(functionShown())
      marked?.classList.add('marked')
    }).observe(nameShown, { childList: true })
  }

  function drawn () {
    lines = null
    current = null
    const box = pivot()
    if (!box) return
    const name = select(box, refocus)
    if (rootBelow && !refocus) holder.scrollTop = holder.scrollHeight
    refocus = false
    filterRows()
    choose(chart.querySelector('.separator') ? name : null)
  }
  new MutationObserver(drawn).observe(chart, { childList: true })
  drawn()
})()
