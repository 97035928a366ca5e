// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Goes through a flame graph without a mouse, and through the graph and the table side by side.

// check fails with what was expected.
export function check (holds, expected) {
  if (!holds) throw new Error(`expected ${expected}`)
}

// focused returns what has the focus: its text, its label, where it is, and whether the focus is visible.
const focused = page => page.evaluate(() => {
  const e = document.activeElement
  const { x, y, width, height } = e.getBoundingClientRect()
  return {
    label: e.getAttribute('aria-label'),
    role: e.getAttribute('role'),
    level: Number(e.getAttribute('aria-level')),
    x,
    y,
    width,
    shown: getComputedStyle(e).outlineStyle !== 'none',
    inside: y >= 0 && y + height <= window.innerHeight + 1
  }
})

// byKeys goes from box to box of a flame graph, in a layout.
export async function byKeys (page, layout, towardsLeaves, towardsRoot) {
  const url = new URL(page.url())
  url.searchParams.set('layout', layout)
  await page.goto(url.href)
  await page.locator('[role=treeitem]').waitFor()
  await page.locator('#search').focus()
  for (let n = 0; n < 5 && (await focused(page)).role !== 'treeitem'; n++) await page.keyboard.press('Tab')
  const press = async key => {
    await page.keyboard.press(key)
    const at = await focused(page)
    check(at.role === 'treeitem' && at.label && at.shown && at.inside, `a visible box with a name after ${key}, not ${JSON.stringify(at)}`)
    return at
  }
  const root = await focused(page)
  check(/^root, .*\(100%\)$/.test(root.label), `the root to have the focus first, not ${JSON.stringify(root)}`)
  const child = await press(towardsLeaves)
  check(child.level === 2 && (child.y > root.y) === (towardsLeaves === 'ArrowDown') && child.width < root.width, `a box nearer to the leaves, not ${JSON.stringify(child)}`)
  const sibling = await press('ArrowRight')
  check(sibling.y === child.y && sibling.x > child.x, 'the box to the right')
  check((await press('ArrowLeft')).label === child.label, 'the box to the left')
  check((await press(towardsRoot)).label === root.label, 'the root again')
  await press(towardsLeaves)
  const leaf = await press(towardsLeaves)

  // Enter zooms in and Escape goes back; the focus stays on the function.
  await page.keyboard.press('Enter')
  await page.waitForURL('**p=*')
  const zoomed = await focused(page)
  check(zoomed.label.split(', ')[0] === leaf.label.split(', ')[0] && zoomed.width > leaf.width, `${leaf.label} to be wider, not ${JSON.stringify(zoomed)}`)
  await press(towardsRoot) // over the line between callers and callees
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !new URL(window.location.href).searchParams.has('p') && document.activeElement.getAttribute('role') === 'treeitem')
  check((await focused(page)).label === root.label, 'the root after Escape')

  // The menu of a box.
  await press(towardsLeaves)
  await page.keyboard.press('Shift+F10')
  await page.locator('#action-menu').waitFor({ state: 'visible' })
  check(await page.evaluate(() => document.activeElement.parentElement.id) === 'action-menu', 'the focus in the menu')
  await page.keyboard.press('Escape')
  await page.locator('#action-menu').waitFor({ state: 'hidden' })
  check((await focused(page)).label === child.label, 'the focus on the box again')
  return { root, child }
}

// sideBySide goes to the page of the graph and the table, where one shows what is pointed at, searched and chosen in the other.
export async function sideBySide (page) {
  await page.locator('#profiles').getByRole('link', { name: 'Graph and table' }).click()
  await page.waitForURL('**/both*')
  await page.locator('[role=treeitem]').waitFor()
  const table = page.locator('#functions')
  const graph = page.locator('#stack-holder')
  const [left, right] = [await graph.boundingBox(), await table.boundingBox()]
  const wide = page.viewportSize().width > 800
  check(wide ? left.x + left.width <= right.x + 1 && left.y === right.y : left.y + left.height <= right.y + 1, 'the table beside the graph, or below it')

  await table.getByRole('columnheader').getByRole('link', { name: 'Cum' }).click()
  await page.waitForURL('**sort=cum*')
  await page.locator('[role=treeitem]').waitFor()
  const rows = table.locator('tbody tr')
  const name = await rows.nth(1).getByRole('link').innerText()
  await rows.nth(1).hover()
  await page.locator('.boxbg.hilite').first().waitFor()
  await page.locator('.boxbg', { hasText: /./ }).nth(1).hover()
  await table.locator('tr.marked').waitFor()
  check(await page.locator('.boxbg.hilite').count() === 0, 'no box to be marked without a pointer at its row')

  await page.locator('#search').fill('runtime')
  await page.locator('.boxbg.hilite').first().waitFor()
  const all = await rows.count()
  const left2 = await rows.filter({ visible: true }).count()
  check(left2 > 0 && left2 < all, `fewer rows than ${all}, not ${left2}`)
  await page.locator('#search').fill('')

  await rows.nth(1).getByRole('link').focus()
  await page.locator('.boxbg.hilite').first().waitFor()
  await page.keyboard.press('Enter')
  await page.locator('.separator').waitFor()
  check(await table.locator('a[aria-current]').innerText() === name, `${name} to be chosen`)
  check((await page.locator('[role=treeitem]').getAttribute('aria-label')).startsWith(name), `the graph to be about ${name}`)
  await page.reload()
  await page.locator('.separator').waitFor()
  await page.goBack()
  await page.locator('.separator').waitFor({ state: 'detached' })
  // The order of the table is not one of google/pprof's pages, but they take it.
  await page.goto(new URL(`top${new URL(page.url()).search}`.replace('sort=cum', 'sort=name'), page.url()).href)
  await page.locator('#rows tr').first().waitFor()
  await page.goBack()
  await page.locator('[role=treeitem]').waitFor()
}
