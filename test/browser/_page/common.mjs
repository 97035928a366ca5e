// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

import { readFileSync } from 'node:fs'

const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

// violations returns what axe-core finds on a page, by all of its rules.
export async function violations (page) {
  await page.evaluate(axe)
  const result = await page.evaluate(() => window.axe.run())
  return result.violations.map(v => `${page.url()}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' ')}`)
}

// press presses Tab until what has the focus fits, and returns what that is. The focus must be visible all the way.
export async function press (page, wanted) {
  for (let n = 0; n < 200; n++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate(() => {
      const e = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(e)
      const box = e.getBoundingClientRect()
      return { text: e.textContent?.trim(), shown: outlineStyle !== 'none' && outlineWidth !== '0px' && box.width > 0, body: e === document.body, tag: e.outerHTML.slice(0, 100) }
    })
    if (!focus.shown && !focus.body) throw new Error(`the focus is not visible on ${focus.tag}`)
    if (focus.text === wanted) return
  }
  throw new Error(`no way by keyboard to ${wanted} on ${page.url()}`)
}
