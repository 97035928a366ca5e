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
