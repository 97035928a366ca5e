// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// The measures of an image, in pixels.
const (
	svgWidth   = 1200
	svgRow     = 18
	svgLetter  = 7
	svgSmall   = 0.2 // minimum width of a box
	maxSVGName = 200 // maximum bytes of a name
	svgNodes   = 5000
)

// svg returns an image of the largest nodes, without a script.
func (t *tree) svg(title, unit string) ([]byte, error) {
	graph, err := t.draw(svgNodes)
	if err != nil {
		return nil, err
	}
	i := image{text: text{tree: t}, graph: graph, unit: unit}
	height := (len(graph.levels) + 2) * svgRow
	i.add(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`,
		svgWidth, height, svgWidth, height))
	i.add("<title>", escaped(title), "</title>\n")
	i.add(fmt.Sprintf(`<rect width="%d" height="%d" fill="#ffffff"/>`, svgWidth, height))
	i.add(`<text x="4" y="13" fill="#1b1f24">`, escaped(title), "</text>\n")
	for level, boxes := range graph.levels {
		end := int64(0)
		for b := range boxes {
			start := end + boxes[b].offset[0]
			end = start + boxes[b].total[0]
			i.box(&boxes[b], i.pixels(start), (level+1)*svgRow)
		}
	}
	i.add("</svg>\n")
	return i.bytes, i.err
}

// image writes a graph.
type image struct {
	text
	graph *graph
	unit  string
}

func (i *image) pixels(value int64) float64 {
	return svgWidth * float64(value) / float64(max(i.graph.totals[0], 1))
}

// box writes one box with its name and its tooltip. x and y are the position of its left top.
func (i *image) box(b *box, x float64, y int) {
	width := i.pixels(b.total[0])
	if width < svgSmall {
		return
	}
	name := i.graph.names[b.name]
	i.add("<g><title>", escaped(name), " (", escaped(amount(b.total[0], i.unit)+", "+share(b.total[0], i.graph.totals[0])), ")</title>")
	i.add(fmt.Sprintf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="`, x, y, max(width-0.5, 0.1), svgRow-1), colour(name), `"/>`)
	if letters := int(width/svgLetter) - 1; letters >= 3 {
		i.add(fmt.Sprintf(`<text x="%.1f" y="%d" fill="#1b1f24">`, x+3, y+13), escaped(shortened(name, letters)), "</text>")
	}
	i.add("</g>\n")
}

// colour returns the colour of a name.
func colour(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	sum := h.Sum32()
	return fmt.Sprintf("#%02x%02x%02x", 215+sum%40, 140+sum>>8%90, 70+sum>>16%60)
}

// shortened returns the beginning of a name.
func shortened(name string, letters int) string {
	if utf8.RuneCountInString(name) <= letters {
		return name
	}
	runes := []rune(name[:min(len(name), 4*letters)])
	return string(runes[:min(letters-1, len(runes))]) + "…"
}

// escaped returns the beginning of a text, escaped for XML.
func escaped(s string) string {
	if len(s) > maxSVGName {
		s = attributevalue.Cut(s, maxSVGName) + "…"
	}
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(s)) // never fails
	return out.String()
}
