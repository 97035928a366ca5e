// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Paints the visible boxes of a flame graph. Their colours are in style.css, for light and dark.

import { fitting, forms, hash, packageOf } from './names.js'
import { visible } from './tree.js'

export const rowHeight = 20
const padding = 5
const hues = [25, 42, 75, 150, 190, 215, 255, 330]
const shades = 10

export class Painter {
  constructor (canvas) {
    Object.assign(this, { canvas, context: canvas.getContext('2d') })
    this.recolour()
  }

  // show takes a tree and the layout of its boxes.
  show (tree, boxes) {
    Object.assign(this, { tree, boxes, fills: [], forms: [] })
  }

  // recolour reads the colours again, since the colour scheme changed.
  recolour () {
    const style = getComputedStyle(document.documentElement)
    const of = name => style.getPropertyValue(`--${name}`).trim()
    const [less, same, more] = ['less', 'same', 'more'].map(name => [1, 3, 5].map(i => parseInt(of(name).slice(i, i + 2), 16)))
    const mixed = part => same.map((s, i) => Math.round(s + ((part < 0 ? less : more)[i] - s) * Math.abs(part)))
    this.colours = { box: of('box'), text: of('box-text'), faded: of('box-faded'), fadedText: of('muted'), outline: of('text'), found: of('muted') }
    this.changes = Array.from({ length: 2 * shades + 1 }, (_, shade) => `rgb(${mixed(shade / shades - 1).join(' ')})`)
    this.fills = []
  }

  resize (pixels, height) {
    const { canvas, context } = this
    Object.assign(this, { pixels, height })
    canvas.width = Math.round(pixels * devicePixelRatio)
    canvas.height = Math.round(height * devicePixelRatio)
    canvas.style.height = `${height}px`
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
    context.font = getComputedStyle(canvas).font
    context.textBaseline = 'middle'
    this.letter = context.measureText('m').width
  }

  // paint draws the part of the layout from..to, scrolled down. rowOf is the row of a depth, outlined a list of nodes.
  paint ({ from, to, scroll, rowOf, found, marked, outlined }) {
    const { context, tree } = this
    context.clearRect(0, 0, this.pixels, this.height)
    for (const [depth, level] of tree.levels) {
      const y = rowOf(depth) * rowHeight - scroll
      if (y < -rowHeight || y > this.height) continue
      visible(this.boxes, level, { from, to, pixels: this.pixels, marks: found?.marks },
        (node, left, right) => this.box(node, left, right, y, found && !found.names[tree.name[node]], tree.name[node] === marked || outlined.includes(node)),
        (left, right, marked) => this.fill(marked ? this.colours.found : this.colours.faded, left, y, Math.max(right - left, 1)))
    }
  }

  box (node, left, right, y, faded, outline) {
    const { context, tree, colours } = this
    const width = right - left - (right - left > 3 ? 1 : 0)
    this.fill(faded ? colours.faded : this.colourOf(node), left, y, width)
    if (outline) {
      context.strokeStyle = colours.outline
      context.lineWidth = 2
      context.strokeRect(left + 1, y + 1, Math.max(width - 2, 1), rowHeight - 3)
    }
    const letters = Math.floor((width - 2 * padding) / this.letter)
    if (letters < 4) return
    context.fillStyle = faded ? colours.fadedText : colours.text
    const text = fitting(this.forms[tree.name[node]] ??= forms(tree.nameOf(node)), letters)
    context.fillText(text, left + padding, y + rowHeight / 2, width - padding)
  }

  fill (colour, left, y, width) {
    this.context.fillStyle = colour
    this.context.fillRect(left, y, width, rowHeight - 1)
  }

  // colourOf is the colour of the package of a function, or of a change between -1, gone, and 1, new.
  colourOf (node) {
    const { tree, boxes: { weights }, colours, fills } = this
    if (tree.compared) {
      const [now, then] = [tree.value[node] * weights.value, tree.base[node] * weights.base]
      const change = now + then > 0 ? (now - then) / (now + then) : 0
      return this.changes[Math.round(Math.sign(change) * Math.sqrt(Math.abs(change)) * shades) + shades]
    }
    return fills[tree.name[node]] ??= tree.isRoot(node) ? colours.faded : `hsl(${hues[hash(packageOf(tree.nameOf(node))) % hues.length]} ${colours.box})`
  }
}
