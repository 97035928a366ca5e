// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

'use strict'

const { time, encode } = require('@datadog/pprof')
const { workFor } = require('./work')

async function main () {
  time.start({ durationMillis: 2000, intervalMicros: 10000, withContexts: true, workaroundV8Bug: false, collectCpuTime: true })
  time.setContext({ route: '/cart' })
  await workFor(2)
  const profile = time.stop(false, ({ context }) => context?.context ?? {})
  const answer = await fetch(process.argv[2], { method: 'POST', body: await encode(profile) })
  if (answer.status !== 204) throw new Error(`status ${answer.status}: ${await answer.text()}`)
}

main().then(() => process.exit(0), err => { console.error(err); process.exit(1) })
