// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the page share: a browser, windows that notice complaints, and what a person does.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { chromium } from 'playwright-core'

const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
export const address = process.env.ADDRESS
export const cpu = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
export const heap = 'memory:inuse_space:bytes:space:bytes'
export const checkout = { service: 'checkout', type: cpu }
export const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } }

export function launch () {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  return chromium.launch({ executablePath: process.env.CHROMIUM, args })
}

// newPage returns a page of a window of its own. page.complaints has what a console shows: errors, warnings, failed requests.
export async function newPage (browser, options = {}) {
  const context = await browser.newContext({ viewport: sizes.wide, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.complaints = []
  page.on('console', message => page.complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => page.complaints.push(String(error)))
  page.on('response', response => { if (response.status() >= 400) page.complaints.push(`${response.url()}: ${response.status()}`) })
  page.on('dialog', dialog => { page.complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss() })
  return page
}

// open shows a state of the page.
export async function open (page, state) {
  await page.goto(`${address}?${new URLSearchParams(state)}`)
  await settled(page)
}

// settled waits until the page has shown all that it asked for.
export async function settled (page) {
  await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
  await page.locator('main[aria-busy=false]').waitFor()
}

// shown returns the text of an element that is to be seen.
export async function shown (page, selector) {
  const element = page.locator(selector).first()
  assert.ok(await element.isVisible(), `${selector} is shown, not ${await page.locator('#message').textContent()}`)
  return element.innerText()
}

// state returns a parameter of the page's address.
export const parameter = (page, name) => new URL(page.url()).searchParams.get(name)

// check asserts what holds for every view: axe-core finds nothing by any rule, nothing is wider than the window, no console message.
export async function check (page, expected = []) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run())
  assert.deepEqual(violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' ')}`), [], page.url())
  assert.equal(await page.evaluate(() => Math.max(document.documentElement.scrollWidth - window.innerWidth, 0)), 0, 'the window is wide enough')
  assert.deepEqual(page.complaints.filter(c => !expected.some(e => c.includes(e))), [])
}

// pictured are the views that documents show.
const pictured = new Set(['list-wide-light', 'list-narrow-dark', 'flamegraph-wide-light', 'flamegraph-wide-dark', 'difference-wide-light', 'focus-wide-light'])

// picture takes a picture for the documents.
export async function picture (page, name) {
  if (!pictured.has(name)) return
  // The service whose name is a script is for this test, not for the pictures.
  await page.evaluate(() => document.querySelectorAll('tr').forEach(row => { if (row.innerText.includes('<script')) row.remove() }))
  await page.screenshot({ path: path.join(process.env.PICTURES, `${name}.png`) })
}

// tab presses Tab until an element has the focus. The focus must be visible all the way.
export async function tab (page, selector) {
  for (let n = 0; n < 60; n++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate(wanted => {
      const e = document.activeElement
      const box = e.getBoundingClientRect()
      const shown = e.type === 'radio' ? e.nextElementSibling : e
      const { outlineStyle, outlineWidth } = getComputedStyle(shown)
      return { found: e.matches(wanted), shown: outlineStyle !== 'none' && outlineWidth !== '0px' && box.width > 0, body: e === document.body, tag: e.outerHTML.slice(0, 100) }
    }, selector)
    assert.ok(focus.shown || focus.body, `the focus is visible on ${focus.tag}`)
    if (focus.found) return
  }
  assert.fail(`no way by keyboard to ${selector}`)
}
