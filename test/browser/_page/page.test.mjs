// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Looks at the page as a person would. ADDRESS is where it is, CHROMIUM the browser, PICTURES a directory.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { address, check, checkout, cpu, heap, launch, newPage, open, parameter, picture, settled, shown, sizes, tab } from './common.mjs'

let browser
before(async () => { browser = await launch() })
after(() => browser.close())

const compared = { ...checkout, from: '-4m', base_service: 'checkout', base_from: '-9m', base_until: '-5m' }

// shows opens a state in a window of its own, looks at it, and goes on from there.
async function shows (options, name, state, see, goOn = () => {}) {
  const page = await newPage(browser, options)
  await open(page, state)
  await see(page)
  await picture(page, name)
  await check(page)
  await goOn(page)
  await page.context().close()
}

for (const size of ['wide', 'narrow']) {
  for (const colorScheme of ['light', 'dark']) {
    const window = { viewport: sizes[size], colorScheme, deviceScaleFactor: size === 'narrow' ? 2 : 1 }
    const name = view => `${view}-${size}-${colorScheme}`

    test(`${size} ${colorScheme}: services`, () => shows(window, name('list'), {}, async page => {
      const services = await page.locator('#services tbody th').allInnerTexts()
      assert.deepEqual(services.slice(0, 3).sort(), ['cart', 'checkout', 'search'], 'those with the type come first')
      assert.ok(services.includes('<script>alert("1")</script>'), 'shown as it is')
      assert.match(await shown(page, '#services'), /12 services/)
    }))

    test(`${size} ${colorScheme}: flame graph and table`, () => shows(window, name('flamegraph'), checkout, async page => {
      assert.match(await shown(page, '#about'), /^Total \d.* (s|min|h)\s*36 profiles$/)
      assert.equal(await page.title(), 'checkout process_cpu cpu – profiles')
      assert.equal(await page.locator('#table tbody tr').count(), 100)
      assert.match(await shown(page, '#table'), /Show more/)
      assert.ok(await page.locator('#selected .axis').count() > 4, 'the timeline has axes')
      const graph = await page.locator('#graph').boundingBox()
      await page.mouse.move(graph.x + graph.width / 4, graph.y + 50)
      assert.match(await shown(page, '#tooltip'), /^\S+\n.*\.go:\d+\nTotal\t.*%\nSelf\t/)
    }))

    test(`${size} ${colorScheme}: difference`, () => shows(window, name('difference'), compared, async page => {
      assert.match(await shown(page, '#about'), /Baseline .*Selection .*Change [+−].*less.*more/s)
      assert.match(await shown(page, '#table thead'), size === 'wide' ? /Self change\s+Total change\s+Baseline\s+Selection/ : /Self change\s+Total change\s*$/)
      assert.match(await shown(page, '#table tbody'), /[+−]\d[\d.]* pp/)
      assert.ok((await page.locator('#table tbody th').first().boundingBox()).width > 120, 'names can be read')
      const [selected, base] = await Promise.all(['#selected', '#compared'].map(id => page.locator(`${id} [text-anchor=end]`).allTextContents()))
      assert.deepEqual(base, selected, 'both timelines have one scale')
    }))
  }
}

const wide = { viewport: sizes.wide }

test('a function in focus', () => shows(wide, 'focus-wide-light', { ...checkout, focus: 'replica/balancer.(*Encoder).LoadHeader' }, async page => {
  assert.match(await shown(page, '#table'), /LoadHeader.*Callers.*WriteHeader.*Callees.*reduceState/s)
}, async page => {
  await page.locator('#table').getByRole('link', { name: 'All functions' }).click()
  await settled(page)
  assert.equal(parameter(page, 'focus'), null)
}))

test('the timeline by a label', () => shows(wide, 'group-wide-light', { ...checkout, group: 'k8s.pod.name' }, async page => {
  assert.deepEqual((await page.locator('.legend a').allInnerTexts()).sort(), ['web-0', 'web-1', 'web-2'])
}, async page => {
  await page.locator('.legend a').first().click()
  await settled(page)
  assert.match(parameter(page, 'select'), /^k8s\.pod\.name="web-\d"$/)
}))

test('another service has another type', async () => {
  const page = await newPage(browser)
  await open(page, checkout)
  await page.getByRole('combobox', { name: 'Service' }).first().fill('worker-1')
  await page.keyboard.press('Enter')
  await settled(page)
  assert.match(parameter(page, 'type'), /^mutex:/)
  assert.match(await shown(page, '#about'), /^Total/)
})

test('nothing found', () => shows(wide, 'empty-wide-light', { ...checkout, service: 'none' }, async page => {
  assert.match(await shown(page, '#message'), /No process_cpu cpu of none in these 15 min\. Last hour Last 24 hours All services/)
  assert.equal(await page.locator('.chart, .tools').filter({ visible: true }).count(), 0, 'there is nothing to search in')
}, async page => {
  await page.getByRole('link', { name: 'All services' }).click()
  await settled(page)
  assert.match(await shown(page, '#services'), /12 services/)
  await open(page, { from: '1000', until: '2000' })
  assert.match(await shown(page, '#message'), /^No profiles of any service in these 1 s\./)
}))

test('what cannot be read', () => shows(wide, 'error-wide-light', { ...checkout, select: 'pod=web' }, async page => {
  assert.match(await shown(page, '#message'), /Cannot read the selectors at: pod=web/)
  assert.deepEqual(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(field => field.value)), ['pod=web'])
  assert.equal(await page.locator('#type').inputValue(), cpu, 'the menus have what there is')
}, async page => {
  await page.getByRole('combobox', { name: 'Selectors' }).first().fill('region="eu"')
  await page.keyboard.press('Enter')
  await settled(page)
  assert.match(await shown(page, '#about'), /^Total/)
}))

test('links that cannot be read', async () => {
  const page = await newPage(browser)
  const id = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }
  for (const [state, message] of [
    [{ select: 'pod', ...id }, /Cannot read the selectors at: pod, trace_id/],
    [{ query: '{service_name=cart}', ...id }, /Cannot read the selectors at: \{service_name=cart\}, trace_id/],
    [{ from: '1763900000000000000' }, /Cannot read the time: 1763900000000000000\./],
    [{ service: 'cart', base_service: 'cart', base_until: 'later' }, /Cannot read the time: later\./]
  ]) {
    await open(page, { type: cpu, ...state })
    assert.match(await shown(page, '#message'), message)
    await page.getByRole('combobox', { name: 'Time' }).first().selectOption('-1h')
    assert.equal(parameter(page, 'from'), '-1h', 'the page can still be used')
  }
  await open(page, { ...checkout, from: 'now-1h' })
  assert.match(await shown(page, '#about'), /^Total/)
  assert.equal(await page.getByRole('combobox', { name: 'Time' }).first().locator('option:checked').innerText(), 'Last 1 h')
  await check(page)
})

test('what is not needed any more is cancelled', async () => {
  const page = await newPage(browser)
  await open(page, { ...checkout, focus: 'main.main' })
  const [unanswered, held, cancelled] = [new Set(), [], []]
  const name = request => new URL(request.url()).pathname.split('/').at(-1)
  const hold = path => page.route(path, route => { unanswered.add(route.request()); held.push(name(route.request())) })
  page.on('requestfailed', request => { if (unanswered.has(request)) cancelled.push(name(request)) })
  const until = async (list, names) => {
    for (let i = 0; i < 3000 && list.length < names.length; i++) await page.waitForTimeout(20)
    assert.deepEqual(list.splice(0).sort(), names)
  }
  const refresh = page.getByRole('button', { name: 'Refresh' })
  const all = ['SelectMergeStacktraces', 'functions', 'functions']
  await hold('**/SelectMergeStacktraces')
  await hold('**/functions?*')
  await refresh.click()
  await until(held, all)
  await refresh.click()
  await until(cancelled, all)
  await until(held, all)
  await page.getByRole('link', { name: /^Focus/ }).click()
  await until(cancelled, ['functions'])
  await page.getByRole('link', { name: 'Profiles', exact: true }).click()
  await until(cancelled, ['SelectMergeStacktraces', 'functions'])
  await until(held, [])
  await settled(page)

  await page.unrouteAll()
  await open(page, checkout)
  await hold('**/LabelNames')
  const field = page.getByRole('combobox', { name: 'Selectors' }).first()
  for (const text of ['r', 're', 'reg']) {
    await field.fill(text)
    await until(held, ['LabelNames'])
  }
  await until(cancelled, ['LabelNames', 'LabelNames'])
  await field.press('Escape')
  await field.fill('')
  await page.unrouteAll()
})

test('a new flame graph hides the description of a box of the old one', async () => {
  const page = await newPage(browser)
  await open(page, checkout)
  const graph = await page.locator('#graph').boundingBox()
  await page.mouse.move(graph.x + graph.width / 4, graph.y + 50)
  await shown(page, '#tooltip')
  await page.evaluate(() => document.getElementById('refresh').click())
  await settled(page)
  assert.ok(await page.locator('#tooltip').isHidden())
})

test('a refusal of the server', async () => {
  const page = await newPage(browser)
  await open(page, { ...checkout, type: 'cpu' })
  assert.match(await shown(page, '#message'), /a profile type must be/)
  await check(page, ['400'])
})

test('the links of a trace and of a span', async () => {
  const page = await newPage(browser)
  await open(page, { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', type: cpu })
  const total = (await shown(page, '#about')).split('\n')[0]
  assert.match(total, /^Total/)
  assert.equal(await page.getByText('Open the trace').getAttribute('href'), 'https://traces.example.com/4bf92f3577b34da6a3ce929d0e0e4736?span=')
  await open(page, { query: '{service_name="cart"}', span_id: '00f067aa0ba902b7', type: cpu })
  assert.equal((await shown(page, '#about')).split('\n')[0], total)
  await open(page, { query: '{service_name="checkout"}', span_id: '00f067aa0ba902b7', type: cpu })
  assert.match(await shown(page, '#message'), /No process_cpu/)
  await check(page)
})

test('selectors as Prometheus and Pyroscope write them', async () => {
  const page = await newPage(browser)
  await open(page, { query: `${cpu}{service_name='checkout',"k8s.pod.name"='web-1'}`, from: 'now-15m', until: 'now' })
  assert.match(await shown(page, '#about'), /^Total .*\s12 profiles$/)
  assert.equal(await page.locator('#type').inputValue(), cpu)
  assert.equal(await page.getByRole('combobox', { name: 'Selectors' }).first().inputValue(), 'k8s.pod.name="web-1"')
  await check(page)
})

test('back, forward and F5 show the same', async () => {
  const page = await newPage(browser)
  await open(page, { ...checkout, from: String(Date.now() - 600e3), until: String(Date.now()) })
  const urls = [page.url()]
  const seen = [await shown(page, '#about')]
  const did = async action => {
    await action()
    await settled(page)
    assert.notEqual(page.url(), urls.at(-1))
    urls.push(page.url())
    seen.push(await shown(page, '#about'))
  }
  const graph = await page.locator('#graph').boundingBox()
  await did(() => page.mouse.click(graph.x + graph.width / 4, graph.y + 50))
  assert.match(seen.at(-1), /Zoom/)
  await did(() => page.getByRole('link', { name: 'Focus on it' }).click())
  assert.match(seen.at(-1), /Focus/)
  await did(() => page.getByText('Root at bottom').click())
  await did(() => page.locator('#table a').nth(1).click())
  await did(() => page.getByRole('button', { name: 'Compare' }).click())
  await did(() => page.getByText('Absolute').click())
  for (let i = urls.length - 1; i >= 0; i--) {
    assert.equal(page.url(), urls[i])
    assert.equal(await shown(page, '#about'), seen[i])
    await page.reload()
    await settled(page)
    assert.equal(await shown(page, '#about'), seen[i], 'after F5')
    if (i > 0) await page.goBack()
    await settled(page)
  }
  await page.goForward()
  await settled(page)
  assert.equal(await shown(page, '#about'), seen[1])
  await check(page)
})

test('one search, with its total, for graph and table', async () => {
  const page = await newPage(browser)
  await open(page, checkout)
  await page.getByRole('searchbox').fill('loadheader')
  await settled(page)
  assert.match(await shown(page, '#matched'), /^Matched .*, \d.* %$/)
  const names = await page.locator('#table tbody a').evaluateAll(links => links.map(link => link.title))
  assert.ok(names.length > 0 && names.every(name => name.toLowerCase().includes('loadheader')), String(names))
  // What all callers call is all.
  await page.getByRole('searchbox').fill('/./')
  await settled(page)
  assert.match(await shown(page, '#matched'), /100 %/)
  await page.getByRole('searchbox').fill('no such function')
  await settled(page)
  assert.match(await shown(page, '#matched'), /^Matched 0, 0 %$/)
  assert.match(await shown(page, '#table'), /No function matches/)
  await open(page, {})
  await page.getByRole('searchbox').fill('worker')
  await settled(page)
  assert.match(await shown(page, '#services'), /8 services of 12/)
})

test('a state at one time does not add up', async () => {
  const page = await newPage(browser)
  await open(page, { type: heap })
  const row = await page.locator('#services tbody tr', { hasText: 'checkout' }).innerText()
  await open(page, { type: heap, service: 'checkout', group: 'k8s.pod.name' })
  const [, total] = /^Total (.*)$/m.exec(await shown(page, '#about'))
  assert.ok(row.includes(`\t${total} `), `the list says ${row}, the graph ${total}`)
  assert.ok((await shown(page, '#selected .legend')).endsWith(total), 'so does the timeline')
})

test('the table has exact sums, in one form', async () => {
  const page = await newPage(browser)
  await open(page, { service: 'checkout', type: heap, view: 'table', sort: 'total' })
  const answer = await page.request.get(`${address}functions?${new URLSearchParams({ type: heap, query: '{service_name="checkout"}', from: '-15m', until: 'now' })}`)
  const { functions, total } = await answer.json()
  const first = functions.toSorted((a, b) => b.total - a.total)[0]
  const row = await shown(page, '#table tbody tr')
  assert.ok(row.startsWith(first.name), row)
  assert.ok(row.endsWith(`${(100 * first.total / total).toFixed(1)} %`), row)
  await page.getByRole('link', { name: 'Function', exact: true }).click()
  await settled(page)
  const names = await page.locator('#table tbody a').allInnerTexts()
  assert.deepEqual(names, names.toSorted((a, b) => a.localeCompare(b)))
  await check(page)
  await page.getByRole('button', { name: /Show more/ }).click()
  assert.ok(await page.locator('#table tbody tr').count() > 100)
})

test('a time by dragging over the timeline', async () => {
  const page = await newPage(browser)
  await open(page, checkout)
  const chart = await page.locator('#selected .chart').boundingBox()
  const y = chart.y + chart.height / 2
  await page.mouse.move(chart.x + chart.width / 2, y)
  await page.mouse.down()
  await page.mouse.move(chart.x + chart.width * 3 / 4, y, { steps: 4 })
  await page.mouse.up()
  await settled(page)
  const span = parameter(page, 'until') - parameter(page, 'from')
  assert.ok(span > 180e3 && span < 280e3, String(span))
  assert.match(await shown(page, '#about'), /^Total .*\s+1\d profiles$/)
  await page.locator('#selected .chart').click()
  await settled(page)
  assert.equal(parameter(page, 'until') - parameter(page, 'from'), span, 'a click selects nothing')
})

test('everything by keyboard', async () => {
  const page = await newPage(browser)
  await open(page, {})
  await tab(page, '#services a')
  await page.keyboard.press('Enter')
  await settled(page)
  assert.equal(parameter(page, 'service'), 'checkout')

  // Selectors, with completion of names and of values.
  await page.locator('h1 a').focus()
  await tab(page, '.selectors input')
  const list = page.getByRole('option').filter({ visible: true })
  await page.keyboard.type('reg')
  await list.first().waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await list.getByText('eu').waitFor()
  await page.keyboard.press('ArrowDown')
  await check(page)
  await page.keyboard.press('Enter')
  await settled(page)
  assert.equal(parameter(page, 'select'), 'region="eu"')

  // A time: two steps with Shift.
  await tab(page, '.chart')
  for (const key of ['ArrowLeft', 'Shift+ArrowLeft']) await page.keyboard.press(key)
  assert.match(await page.locator('#selected .chart').getAttribute('aria-valuetext'), /^\d\d:\d\d:\d\d – \d\d:\d\d:\d\d/)
  await page.keyboard.press('Enter')
  await settled(page)
  assert.equal(parameter(page, 'until') - parameter(page, 'from'), 30e3)
  await page.goBack()
  await settled(page)

  // Boxes of the flame graph, in both directions.
  for (const [root, deeper, higher] of [['top', 'ArrowDown', 'ArrowUp'], ['bottom', 'ArrowUp', 'ArrowDown']]) {
    await open(page, { ...checkout, root })
    await page.getByRole('searchbox').focus()
    await tab(page, '#graph')
    const box = async key => {
      await page.keyboard.press(key)
      const item = page.getByRole('treeitem')
      return { text: await item.textContent(), level: await item.getAttribute('aria-level') }
    }
    assert.match((await box('Home')).text, /^total\. Total .* 100 %\. Self/)
    const child = await box(deeper)
    assert.equal(child.level, '2')
    const sibling = await box('ArrowRight')
    assert.notEqual(sibling.text, child.text)
    assert.deepEqual(await box('ArrowLeft'), child)
    assert.equal((await box(higher)).level, '1')
    await box(deeper)
    assert.equal((await box(deeper)).level, '3')
    await check(page)
    await page.keyboard.press('Enter')
    await settled(page)
    assert.match(await shown(page, '#about'), /Zoom/)
    await page.keyboard.press('Escape')
    await settled(page)
    assert.equal(parameter(page, 'zoom'), null)
  }
  await tab(page, '#table a[data-keep=sort-total]')
  await page.keyboard.press('Enter')
  await settled(page)
  assert.equal(parameter(page, 'sort'), 'total')
  assert.equal(await page.evaluate(() => document.activeElement.dataset.keep), 'sort-total', 'the focus stays')
})

test('a zoom fills the width with the very node', async () => {
  const page = await newPage(browser)
  await open(page, { ...checkout, view: 'graph' })
  const graph = await page.locator('#graph').boundingBox()
  await page.mouse.move(graph.x + 20, graph.y + 90)
  const before = await shown(page, '#tooltip')
  await page.mouse.click(graph.x + 20, graph.y + 90)
  await settled(page)
  await page.waitForTimeout(400) // the zoom ends
  for (const x of [20, graph.width - 20]) {
    await page.mouse.move(graph.x + x, graph.y + 90)
    assert.equal(await shown(page, '#tooltip'), before, 'the same box from side to side')
  }
})

test('downloads of what is shown', async () => {
  const page = await newPage(browser)
  await open(page, checkout)
  await page.getByText('Download', { exact: true }).click()
  const links = await page.locator('#downloads a').evaluateAll(all => all.map(a => a.href))
  assert.equal(links.length, 5)
  for (const link of links) assert.equal((await page.request.get(link)).status(), 200, link)
  await check(page)
})

test('without JavaScript', async () => {
  const page = await newPage(browser, { javaScriptEnabled: false })
  await page.goto(address)
  await page.getByRole('link', { name: 'plain' }).click()
  await page.getByRole('link', { name: 'checkout' }).first().waitFor()
  assert.deepEqual(page.complaints, [])
  // How it looks is checked with scripts.
  const narrow = await newPage(browser, { viewport: sizes.narrow })
  await narrow.goto(`${address}plain`)
  await check(narrow)
  await narrow.getByRole('row', { name: 'checkout' }).getByRole('link', { name: 'contentions' }).first().click()
  await narrow.getByText('The heaviest functions').waitFor()
  await check(narrow)
})

test('a function in focus without a value', async () => {
  const page = await newPage(browser)
  await open(page, { ...checkout, focus: 'main.none' })
  assert.match(await shown(page, '#about'), /Focus\s+main\.none\s+×\s+It has no value in the selection/)
  assert.match(await shown(page, '#table'), /main\.none\s+This function has no value in the selection\.\s+All functions$/)
  await check(page)
})

// The time depends on the machine: it is for people.
test('the first paint of the heap example', async t => {
  const page = await newPage(browser)
  await open(page, { service: 'checkout', type: heap })
  const { milliseconds, bytes } = await page.evaluate(() => {
    const { performance } = window
    const fetched = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    return { milliseconds: performance.getEntriesByName('first-contentful-paint')[0].startTime, bytes: fetched.reduce((sum, entry) => sum + entry.encodedBodySize, 0) }
  })
  t.diagnostic(`first contentful paint after ${Math.round(milliseconds)} ms, ${bytes} bytes`)
  assert.ok(bytes > 10_000 && bytes < 1_000_000, String(bytes))
})
