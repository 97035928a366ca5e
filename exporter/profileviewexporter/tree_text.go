// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// maxText limits the text of a tree in bytes.
const maxText = 64 << 20

// text is a text of a tree, up to its limit. After an error it does not change.
type text struct {
	tree  *tree
	bytes []byte
	err   error
	path  []uint32
}

// grow returns whether n more bytes fit, after it has allocated memory for them.
func (t *text) grow(n int) bool {
	size := len(t.bytes) + n
	switch {
	case t.err != nil:
		return false
	case size > maxText:
		t.err = fail(http.StatusUnprocessableEntity, "the text is too large: it has more than %d bytes", maxText)
		return false
	case size <= cap(t.bytes):
		return true
	}
	capacity := min(max(2*cap(t.bytes), size, 4<<10), maxText)
	// Both buffers are in memory during the copy, and the answer has a compressed copy.
	if t.err = t.tree.work.Need(int64(cap(t.bytes) + 2*capacity)); t.err != nil {
		return false
	}
	t.bytes = append(make([]byte, 0, capacity), t.bytes...)
	return true
}

func (t *text) add(parts ...string) {
	for _, s := range parts {
		if t.grow(len(s)) {
			t.bytes = append(t.bytes, s...)
		}
	}
}

// number adds a number.
func (t *text) number(n int64) { t.add(strconv.FormatInt(n, 10)) }

// quoted adds a text as JSON.
func (t *text) quoted(s string) {
	if t.grow(6*len(s) + 2) { // the maximum length after escaping
		quoted, _ := json.Marshal(s) // never fails
		t.bytes = append(t.bytes, quoted...)
	}
}

// pathOf returns the nodes from below the root to a node. It is valid until the next call.
func (t *text) pathOf(node int) []uint32 {
	t.path = t.path[:0]
	for at := uint32(node); at != 0; at = t.tree.nodes.Rows[at].parent {
		t.path = append(t.path, at)
	}
	slices.Reverse(t.path)
	return t.path
}

// stacks calls visit with each node that has a value of its own above 0.
func (t *text) stacks(visit func(node int, value int64)) {
	for i := range t.tree.values {
		if v := t.tree.values[i][0].self; v > 0 && t.err == nil {
			visit(i, v)
		}
	}
}

// collapsed returns a line for each stack: its functions, separated by semicolons, and its value. It leaves out values that are not above 0.
func (t *tree) collapsed() ([]byte, error) {
	out := text{tree: t}
	names := strings.NewReplacer(";", ":", "\n", " ", "\r", " ")
	out.stacks(func(node int, value int64) {
		for i, at := range out.pathOf(node) {
			if i > 0 {
				out.add(";")
			}
			out.add(names.Replace(t.nameOf(at)))
		}
		if node == 0 {
			out.add("[no stack]")
		}
		out.add(" ")
		out.number(value)
		out.add("\n")
	})
	return out.bytes, out.err
}

// speedscopeUnits are the units of speedscope.
var speedscopeUnits = map[string]bool{"nanoseconds": true, "microseconds": true, "milliseconds": true, "seconds": true, "bytes": true}

// speedscope returns a file for speedscope. It leaves out values that are not above 0.
func (t *tree) speedscope(title, unit string) ([]byte, error) {
	out := text{tree: t}
	out.add(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"otelpprof","name":`)
	out.quoted(title)
	out.add(`,"activeProfileIndex":0,"shared":{"frames":[`)
	for i, name := range t.names.Rows {
		if i > 0 {
			out.add(",")
		}
		out.add(`{"name":`)
		out.quoted(name)
		if at := t.places[i]; at.file != "" {
			out.add(`,"file":`)
			out.quoted(at.file)
			out.add(`,"line":`)
			out.number(at.line)
		}
		out.add("}")
	}
	if !speedscopeUnits[unit] {
		unit = "none"
	}
	out.add(`]},"profiles":[{"type":"sampled","name":`)
	out.quoted(title)
	out.add(`,"unit":"`, unit, `","startValue":0,"samples":[`)
	separator, total := "", int64(0)
	out.stacks(func(node int, value int64) {
		out.add(separator, "[")
		for i, at := range out.pathOf(node) {
			if i > 0 {
				out.add(",")
			}
			out.number(int64(t.nodes.Rows[at].name))
		}
		out.add("]")
		separator = ","
		total += value
	})
	out.add(`],"weights":[`)
	separator = ""
	out.stacks(func(_ int, value int64) {
		out.add(separator)
		out.number(value)
		separator = ","
	})
	out.add(`],"endValue":`)
	out.number(total)
	out.add("}]}\n")
	return out.bytes, out.err
}

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
