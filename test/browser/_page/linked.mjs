// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// The pages that links from elsewhere lead to: of a trace, of a span, and of what is not there; a page that stays after a selection;
// and how soon a first page is.

import { press, violations } from './common.mjs'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

// linked goes through the pages with a keyboard, and returns what axe-core finds there.
export async function linked (browser, options, address) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const found = []
  const open = async (path, status) => {
    const response = await page.goto(address + path)
    if (response.status() !== status) throw new Error(`${path}: ${response.status()} instead of ${status}`)
    found.push(...await violations(page))
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    if (wider > 0) throw new Error(`${path} is ${wider} pixels wider than the window`)
  }
  const enter = async (text, url) => {
    await press(page, text)
    await page.keyboard.press('Enter')
    await page.waitForURL(url)
  }
  await open(`trace/${trace}`, 200)
  await enter('Flame graph', `**/flamegraph?trace_id=${trace}`)
  await page.locator('[role=treeitem]').waitFor()
  await enter('All samples', url => !url.search.includes('trace_id'))
  await open(`span/${span}`, 200)
  await enter('Top', `**/top?span_id=${span}`)
  await open('trace/00000000000000000000000000000001', 404)
  await enter('All profiles', address)
  await open('view/none/none/flamegraph?from=-5m', 404)
  await enter('All times', '**from=all*')
  await open('view/checkout/cpu/top?windw=5m', 400)
  await enter('All profiles', address)
  await context.close()
  return found
}

// brushed selects a part of the time on a page that stays, as after Back. Later clicks must not select it again.
export async function brushed (browser, address) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${address}view/checkout/cpu/functions?from=-15m`)
  let asked = 0
  await page.route('**until=*', route => { asked++; return route.fulfill({ status: 204 }) }) // without content, a browser stays on its page
  const box = await page.locator('#timeline').boundingBox()
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + 1, y)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2, y, { steps: 5 })
  await Promise.all([page.waitForResponse('**until=*'), page.mouse.up()])
  await page.locator('main h1').click()
  await page.waitForTimeout(200) // a request would begin
  if (asked !== 1) throw new Error(`a click selects the time again: ${asked} requests`)
  await page.locator('#timeline a').last().focus()
  await Promise.all([page.waitForResponse('**until=*'), page.keyboard.press('Enter')]) // a bar opens by keyboard
  await context.close()
}

// paint returns when a browser that knows nothing yet paints the flame graph of the heap example, and what it fetched.
export async function paint (browser, address) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${address}view/checkout/heap/flamegraph?from=-15m`)
  await page.waitForFunction(() => window.performance.getEntriesByName('first-contentful-paint').length > 0)
  const measured = await page.evaluate(() => {
    const { performance } = window
    const fetched = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    return {
      milliseconds: performance.getEntriesByName('first-contentful-paint')[0].startTime,
      answered: performance.getEntriesByType('navigation')[0].responseEnd,
      bytes: fetched.reduce((sum, entry) => sum + entry.encodedBodySize, 0),
      files: fetched.length
    }
  })
  await context.close()
  return measured
}
