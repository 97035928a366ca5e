// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// What the page makes of answers.

import assert from 'node:assert/strict'
import test from 'node:test'
import { series } from '../api.js'

test('a value of 0, which JSON leaves out, is a number', async t => {
  t.mock.method(globalThis, 'fetch', async () => Response.json({ series: [
    { labels: [{ name: 'pod', value: 'a' }], points: [{ timestamp: '2000' }, { timestamp: '3000', value: 7 }] }
  ] }))
  const [pod] = await series('mutex:delay:nanoseconds:contentions:count', { service: 'shop', select: '', from: 0, until: 3000 }, 1, 'pod')
  assert.deepEqual(pod, { name: 'a', points: [{ time: 2000, value: 0 }, { time: 3000, value: 7 }], total: 7 })
})
