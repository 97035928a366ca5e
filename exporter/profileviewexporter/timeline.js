// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Selects a time range on the timeline, by dragging, or with the arrow keys and Shift. Without this script, each bar links to
// its own part of the time.
(() => {
  const chart = document.getElementById('timeline')
  if (!chart) return
  const bars = Number(chart.dataset.bars)
  const start = Number(chart.dataset.start)
  const step = Number(chart.dataset.step)
  const links = Array.from(chart.querySelectorAll('a'))
  const brush = chart.querySelector('.brush')
  const width = chart.viewBox.baseVal.width / bars
  let first = -1 // the bar where a selection began, or -1
  let last = -1
  let dragged = false

  const time = bar => new Date((start + bar * step) * 1000).toISOString().replace('.000Z', 'Z')
  const clamp = bar => Math.min(Math.max(bar, 0), bars - 1)
  const barAt = event => {
    const box = chart.getBoundingClientRect()
    return clamp(Math.floor((event.clientX - box.left) / box.width * bars))
  }
  const barOf = link => Number(link.dataset.bar)

  function show () {
    if (first < 0) {
      brush.setAttribute('width', '0')
      return
    }
    brush.setAttribute('x', String(Math.min(first, last) * width))
    brush.setAttribute('width', String((Math.abs(last - first) + 1) * width))
  }

  function open () {
    const target = new URL(chart.dataset.query, window.location.href)
    target.searchParams.set('from', time(Math.min(first, last)))
    target.searchParams.set('until', time(Math.max(first, last) + 1))
    first = -1 // the browser can keep this page, and show it again after Back
    window.location.assign(target.href)
  }

  chart.addEventListener('dragstart', event => event.preventDefault())
  chart.addEventListener('pointerdown', event => {
    if (event.button !== 0) return
    first = last = barAt(event)
    dragged = false
  })
  window.addEventListener('pointermove', event => {
    if (first < 0 || event.buttons === 0) return
    last = barAt(event)
    if (last === first && !dragged) return
    dragged = true
    show()
  })
  window.addEventListener('pointerup', () => {
    if (first >= 0 && dragged) open()
    else if (first >= 0) first = -1
  })
  window.addEventListener('pointercancel', () => {
    first = -1
    show()
  })
  chart.addEventListener('click', event => {
    if (dragged) event.preventDefault()
    dragged = false
  })
  window.addEventListener('pageshow', () => {
    first = -1
    dragged = false
    show()
  })

  // Tab stops once at the timeline; the arrow keys move from bar to bar.
  const enter = (link, focused) => {
    for (const other of links) other.setAttribute('tabindex', other === link ? '0' : '-1')
    if (focused) link.focus()
  }
  if (links.length > 0) enter(links.find(link => link.classList.contains('chosen')) || links[0], false)
  chart.addEventListener('keydown', event => {
    const link = event.target.closest('a')
    const at = links.indexOf(link)
    if (at < 0) return
    if (event.key === 'Enter' && first >= 0) {
      event.preventDefault()
      open()
      return
    }
    if (event.key === 'Escape') {
      first = -1
      show()
      return
    }
    const way = { ArrowLeft: -1, ArrowRight: 1, Home: -links.length, End: links.length }[event.key]
    if (way === undefined) return
    event.preventDefault()
    const next = links[Math.min(Math.max(at + way, 0), links.length - 1)]
    if (event.shiftKey) {
      if (first < 0) first = barOf(link)
      last = barOf(next)
    } else {
      first = -1
    }
    show()
    enter(next, true)
  })
})()
