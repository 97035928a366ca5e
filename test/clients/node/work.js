// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

'use strict'

const { createHash } = require('node:crypto')

const held = []

// hotFunction is what every client must find: it works, and holds memory.
function hotFunction () {
  const until = Date.now() + 50
  while (Date.now() < until) {
    createHash('sha256').update(Buffer.alloc(4096)).digest()
    held.push(new Array(100).fill({ text: String(Math.random()) }))
    if (held.length > 5000) held.splice(0, 1000)
  }
}

// workFor works until so many seconds have passed, and lets others run in between.
async function workFor (seconds, around = f => f()) {
  const until = Date.now() + seconds * 1000
  while (Date.now() < until) {
    around(hotFunction)
    await new Promise(resolve => setImmediate(resolve))
  }
}

module.exports = { workFor }
