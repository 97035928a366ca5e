// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

'use strict'

const Pyroscope = require('@pyroscope/nodejs')
const { workFor } = require('./work')

// The client may begin another round while it stops, on a busy machine, and throws then.
let stopping = false
process.on('uncaughtException', err => {
  if (stopping && err.message.includes('profiler is not started')) return
  console.error(err)
  process.exit(1)
})

async function main () {
  Pyroscope.init({
    serverAddress: process.argv[2],
    appName: 'from-node',
    tags: { region: 'eu-1' },
    flushIntervalMs: 1000,
    heap: { samplingIntervalBytes: 65536 },
    wall: { samplingDurationMs: 1000, samplingIntervalMicros: 10000, collectCpuTime: true }
  })
  Pyroscope.start()
  await workFor(5, f => Pyroscope.wrapWithLabels({ route: '/cart' }, f))
  stopping = true
  await Pyroscope.stop()
}

main().then(() => process.exit(0), err => { console.error(err); process.exit(1) })
