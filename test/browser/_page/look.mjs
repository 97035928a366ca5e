// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Goes from the list of profiles to a flame graph as a person would, in a window of a size, in light or dark, and says as JSON
// what is to be seen. Without a size it goes without JavaScript and without a mouse, and says when a first page is painted.
// Arguments: the browser, the address of the list, a directory for the pictures, the name of a frame, wide or narrow, light or
// dark.

import { chromium } from 'playwright-core'
import path from 'node:path'
import { press, violations } from './common.mjs'
import { byKeys, sideBySide } from './graph.mjs'
import { brushed, linked, paint } from './linked.mjs'

const [executablePath, address, pictures, frameName, size, colorScheme] = process.argv.slice(2)
const patience = 60_000

// The pictures that documents show.
const shown = new Set([
  'list-wide-light', 'list-narrow-dark', 'flamegraph-wide-light', 'flamegraph-wide-dark', 'both-wide-light', 'difference-wide-light', 'compare-wide-light'
])

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } }

// look visits the pages in a window of its own and returns what is there.
async function look (browser, size, colorScheme) {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme, deviceScaleFactor: size === 'narrow' ? 2 : 1 })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  const complaints = []
  page.on('console', message => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('requestfailed', request => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
  page.on('response', response => { if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`) })
  page.on('dialog', dialog => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss() })
  const picture = async name => {
    const file = `${name}-${size}-${colorScheme}`
    if (shown.has(file) || name === 'failed') await page.screenshot({ path: path.join(pictures, `${file}.png`) })
  }

  await page.goto(address)
  const seen = {
    size,
    colorScheme,
    services: await page.locator('td.service').allInnerTexts(),
    overflow: await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
    background: await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  }
  // The service whose name is a script is for this test, not for the pictures.
  await page.evaluate(() => document.querySelectorAll('tr').forEach(row => { if (row.innerText.includes('<script')) row.remove() }))
  await picture('list')
  const violated = seen.violations = await violations(page)
  // The form and the headings work; what is chosen stays.
  await page.getByRole('searchbox').fill('check')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL('**q=check*')
  seen.found = await page.locator('td.service').allInnerTexts()
  await page.getByRole('columnheader').getByRole('link', { name: 'Size', includeHidden: true }).first().evaluate(link => link.click())
  await page.waitForURL('**sort=size*')
  seen.searched = await page.getByRole('searchbox').inputValue()
  await page.goto(address)
  const row = page.locator('tr', { hasText: 'checkout' }).first()
  await row.getByRole('link', { name: 'Flame graph' }).click()
  await page.waitForURL('**/flamegraph*')
  const frame = page.getByText(frameName).locator('visible=true').first()
  await frame.waitFor().catch(async error => { await picture('failed'); throw error })
  seen.frame = await frame.innerText()
  seen.title = await page.title()
  seen.bar = await page.locator('#profiles').innerText()
  seen.barOverflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  await picture('flamegraph')
  violated.push(...await violations(page))

  // The same upside down, with the table beside it.
  await page.goto(new URL('both?from=-15m&layout=flame', page.url()).href)
  await page.locator('[role=treeitem]').waitFor()
  await frame.waitFor()
  seen.besideOverflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  await picture('both')
  if ((size === 'wide') === (colorScheme === 'light')) violated.push(...await violations(page))

  // The menu leads to the other pages about the same profile.
  await page.goto(new URL('top', page.url()).href)
  seen.rows = await page.locator('#rows tr').count()
  violated.push(...await violations(page))
  // Each page is there again, also where the browser asks whether it has changed.
  await page.goBack()
  await frame.waitFor()
  await page.goForward()
  await page.locator('#rows tr').first().waitFor()
  await page.reload()
  await page.locator('#rows tr').first().waitFor()
  await page.goto(new URL('peek', page.url()).href)
  await page.getByText('calls%').first().waitFor()
  violated.push(...await violations(page))
  await page.reload()
  await page.getByText('calls%').first().waitFor()
  await page.locator('#profiles').getByRole('link', { name: 'All profiles' }).click()
  await row.waitFor()
  await row.getByRole('link', { name: 'Flame graph' }).click()
  await frame.waitFor()
  await page.reload()
  await frame.waitFor()

  // The form of the bar chooses a resource.
  await page.locator('#profiles summary', { hasText: 'Filter' }).click()
  await page.getByRole('combobox', { name: 'k8s.pod.name' }).selectOption('checkout-1')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL('**k8s.pod.name=checkout-1*')
  await frame.waitFor()
  seen.chosen = await page.locator('#profiles').innerText()
  await page.goBack()
  await frame.waitFor()

  // The links of the bar lead to other times, and to a comparison with the time before.
  await page.locator('#profiles').getByRole('link', { name: 'last 5 min' }).click()
  await page.waitForURL('**from=-5m*')
  await page.locator('#profiles').getByRole('link', { name: /^Compare with/ }).click()
  await page.locator('#legend').waitFor()
  await page.getByText(frameName).locator('visible=true').first().waitFor()
  seen.legend = await page.locator('#legend').innerText()
  violated.push(...await violations(page))
  await picture('difference')
  await page.goBack()
  await frame.waitFor()
  if (size === 'wide' && colorScheme === 'light') await explore(page, frame, seen, picture)
  if (size === 'narrow' && colorScheme === 'dark') await explore(page, frame, seen, picture)
  await page.locator('.title a').click()
  await row.waitFor()

  seen.complaints = complaints
  await context.close()
  return seen
}

// withKeyboard goes from the list to a flame graph, its table, and back, without a mouse.
async function withKeyboard (browser) {
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  const enter = async (text, url) => {
    await press(page, text)
    await page.keyboard.press('Enter')
    await page.waitForURL(url)
  }
  await page.goto(address)
  await enter('Flame graph', '**/flamegraph*')
  await page.locator('.boxbg').first().waitFor()
  await press(page, 'View')
  await enter('Top', '**/top*')
  const names = page.locator('#rows td:nth-child(6)')
  await names.first().waitFor()
  await press(page, 'Name')
  await page.keyboard.press('Enter')
  const sorted = await names.allTextContents()
  if (sorted.length < 2 || sorted.some((name, i) => i > 0 && sorted[i - 1] > name)) throw new Error('the table is not sorted by keyboard')
  await page.goBack()
  await page.locator('.boxbg').first().waitFor()
  await enter('As a table', '**/top*')
  await enter('All profiles', '**/profiling/')
  await context.close()
}

// explore visits the pages of functions, labels and comparisons from the flame graph, and chooses times on the timeline.
async function explore (page, frame, seen, picture) {
  const bar = page.locator('#profiles')
  await bar.getByRole('link', { name: 'last hour' }).click()
  await page.waitForURL('**from=-1h*')
  const address = page.url()
  await byKeys(page, 'flame', 'ArrowUp', 'ArrowDown')
  await bar.getByRole('link', { name: 'Root at the top' }).click()
  await page.waitForURL(url => !url.searchParams.has('layout'))
  await byKeys(page, 'icicle', 'ArrowDown', 'ArrowUp')
  await sideBySide(page)
  await page.goto(address)
  const overflows = []
  const measure = async () => overflows.push(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
  await bar.getByRole('link', { name: 'Functions' }).click()
  const main = page.locator('main')
  await main.getByRole('searchbox').fill('runtime')
  await main.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL('**q=runtime*')
  await main.getByRole('columnheader').getByRole('link', { name: 'Cum' }).click()
  await page.waitForURL('**sort=cum*')
  seen.functions = await main.locator('tbody tr').count()
  await measure()
  await main.locator('tbody a').first().click()
  await main.getByRole('heading', { name: 'Callers' }).waitFor()
  await measure()
  await page.reload()
  await main.getByRole('link', { name: 'Its flame graph' }).click()
  await page.waitForURL('**/flamegraph*')
  await page.goBack()
  await main.getByRole('heading', { name: 'Callees' }).waitFor()

  await bar.getByRole('link', { name: 'Labels' }).click()
  await main.getByRole('link', { name: 'eu', exact: true }).waitFor()
  await measure()
  await main.getByRole('link', { name: 'eu', exact: true }).click()
  await frame.waitFor()
  seen.labelled = await bar.innerText()

  await page.goto(address)
  await bar.getByRole('link', { name: 'Compare', exact: true }).click()
  await main.getByLabel('base_resource.k8s.pod.name', { exact: true }).selectOption('checkout-2')
  await main.getByLabel('resource.k8s.pod.name', { exact: true }).selectOption('checkout-1')
  await main.getByRole('button', { name: 'Compare' }).click()
  await main.locator('.images svg').nth(2).waitFor()
  seen.compared = await page.locator('#legend').innerText()
  await measure()
  await picture('compare')
  await page.reload()
  await main.locator('tbody tr').first().waitFor()

  // A pointer chooses the first half of the time, and the keys all of it.
  await page.goto(address)
  const timeline = page.locator('#timeline')
  const box = await timeline.boundingBox()
  await page.mouse.move(box.x + 1, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 5 })
  await page.mouse.up()
  await page.waitForURL('**until=*')
  await frame.waitFor()
  seen.brushed = await bar.innerText()
  await page.goto(address)
  await timeline.locator('a').last().focus()
  await page.keyboard.press('Shift+Home')
  await page.keyboard.press('Enter')
  await page.waitForURL('**until=*')
  await frame.waitFor()
  seen.keyed = await bar.innerText()
  seen.ownOverflow = Math.max(...overflows)
  await page.goto(address)
  await frame.waitFor()
}

// withoutScripts goes through what needs no JavaScript: the list, its form, and the bar of the pages.
async function withoutScripts (browser) {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  await page.goto(address)
  await page.getByRole('searchbox').fill('check')
  await page.getByLabel('Refresh').selectOption('1m0s')
  await page.getByLabel('k8s.pod.name: regular expression').fill('checkout-[0-9]')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL('**q=check*')
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'pprof', exact: true }).first().click()
  if (!(await (await download).path())) throw new Error('no download')
  await page.getByRole('link', { name: 'Top' }).first().click()
  await page.locator('#profiles').getByRole('link', { name: 'heap' }).click()
  await page.waitForURL('**/heap/top*')
  await page.locator('#profiles').getByRole('link', { name: 'last hour' }).click()
  await page.waitForURL('**from=-1h*')
  await page.locator('#profiles').getByRole('link', { name: 'Refresh' }).click()
  await page.locator('#profiles').getByRole('link', { name: 'Without k8s.pod.name =~ checkout-[0-9]' }).click()
  await page.waitForURL(url => !url.searchParams.has('resource.k8s.pod.name~'))
  await page.locator('#profiles').getByRole('link', { name: 'Functions' }).click()
  await page.locator('main tbody a').first().click()
  await page.getByRole('heading', { name: 'Callers' }).waitFor()
  await page.locator('#profiles').getByRole('link', { name: 'Compare', exact: true }).click()
  await page.locator('main').getByRole('button', { name: 'Compare' }).click()
  await page.locator('main .images svg').nth(2).waitFor()
  await page.locator('#profiles').getByRole('link', { name: 'Labels' }).click()
  await page.locator('#timeline a').first().click()
  await page.waitForURL('**until=*')
  await page.locator('#profiles').getByRole('link', { name: 'All profiles' }).click()
  await page.getByRole('heading', { name: 'Profiles' }).waitFor()
  await context.close()
}

const browser = await chromium.launch({
  executablePath,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
})
try {
  if (size) {
    const seen = await look(browser, size, colorScheme)
    seen.violations.push(...await linked(browser, { viewport: sizes[size], colorScheme }, address))
    console.log(JSON.stringify(seen))
  } else {
    await withoutScripts(browser)
    await withKeyboard(browser)
    await brushed(browser, address)
    console.log(JSON.stringify(await paint(browser, address)))
  }
} finally {
  await browser.close()
}
