// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// SVG configures an image.
type SVG struct {
	// Index is the index of the sample type.
	Index int
	// Title describes the image. Amount formats a value.
	Title  string
	Amount func(int64) string
	// Boxes limits the number of boxes. The widest ones are drawn.
	Boxes int
	// Side selects the samples that count.
	Side Side
	// Inside is set for an image that is a part of a page.
	Inside bool
	// RootBelow is set if the root is at the bottom.
	RootBelow bool
}

// Side is a side of a difference, or both.
type Side int

// The sides.
const (
	Now Side = iota
	Before
	Difference
)

// The measures of an image, in pixels.
const (
	svgWidth   = 1200
	svgRow     = 18
	svgLetter  = 7
	svgSmall   = 0.2 // minimum width of a box
	maxSVGName = 200 // maximum bytes of a name
)

// box is a frame with all frames above it.
type box struct {
	parent, name int32
	depth        int32
	drawn        bool
	// now and before are the values of its samples. width is the value that sets its width.
	now, before, width int64
	x                  float64
}

// boxes is the tree of an image. The first box is the root. Each box comes after its parent.
type boxes struct {
	all   []box
	names []string
	known map[[2]int32]int32
	ids   map[string]int32
}

// Flamegraph returns an image of a profile in SVG, without a script.
func Flamegraph(p *profile.Profile, image *SVG, limits Limits) ([]byte, error) {
	tree := boxesOf(p, image)
	tree.layOut(image.Boxes)
	t := text{limits: limits}
	depth, left := int32(0), 0
	for _, b := range tree.all {
		if b.drawn {
			depth = max(depth, b.depth)
		} else {
			left++
		}
	}
	height := (int(depth) + 3) * svgRow
	size := fmt.Sprintf(`width="%d" height="%d" `, svgWidth, height)
	if image.Inside {
		size = `width="100%" role="img" `
	}
	t.add(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" %sviewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, size, svgWidth, height))
	t.add("<title>" + escaped(image.Title, 4*maxSVGName) + "</title>\n")
	if !image.Inside {
		t.add(fmt.Sprintf(`<rect width="%d" height="%d" fill="#ffffff"/>`, svgWidth, height))
		t.add(`<text x="4" y="13" fill="#1b1f24">` + escaped(image.Title, maxSVGName) + "</text>\n")
	}
	for i := range tree.all {
		if b := &tree.all[i]; b.drawn {
			row := b.depth
			if image.RootBelow {
				row = depth - b.depth
			}
			t.box(tree, b, image, int(row+1)*svgRow)
		}
	}
	if left > 0 && !image.Inside {
		t.add(fmt.Sprintf(`<text x="4" y="%d" fill="#1b1f24">%d narrower boxes are not drawn.</text>`, height-5, left))
	}
	t.add("</svg>\n")
	return t.bytes, t.err
}

// boxesOf returns the tree of a profile.
func boxesOf(p *profile.Profile, image *SVG) *boxes {
	tree := &boxes{known: map[[2]int32]int32{}, ids: map[string]int32{}}
	root := tree.child(-1, "root")
	for _, s := range p.Sample {
		v := s.Value[image.Index]
		isBase := s.DiffBaseSample()
		if isBase {
			v = -v
		}
		if v == 0 || isBase && image.Side == Now || !isBase && image.Side == Before {
			continue
		}
		at := root
		tree.count(at, v, isBase)
		for frame := range frames(s) {
			at = tree.child(at, nameOf(frame))
			tree.count(at, v, isBase)
		}
	}
	return tree
}

// child returns the child of a box with a name. It adds the child if there is none.
func (t *boxes) child(parent int32, name string) int32 {
	id, known := t.ids[name]
	if !known {
		id = int32(len(t.names))
		t.ids[name] = id
		t.names = append(t.names, name)
	}
	key := [2]int32{parent, id}
	at, known := t.known[key]
	if !known {
		at = int32(len(t.all))
		t.known[key] = at
		b := box{parent: parent, name: id}
		if parent >= 0 {
			b.depth = t.all[parent].depth + 1
		}
		t.all = append(t.all, b)
	}
	return at
}

// count adds a value to a box. The width uses the value without its sign.
func (t *boxes) count(at int32, v int64, isBase bool) {
	b := &t.all[at]
	if isBase {
		b.before += v
	} else {
		b.now += v
	}
	b.width += max(v, -v)
}

// layOut sets the positions of the boxes, and which ones are drawn: the widest, and of equal widths the first, so that a parent comes
// before its children. Children of one box are sorted by name.
func (t *boxes) layOut(most int) {
	order := make([]int32, len(t.all))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(t.all[b].width, t.all[a].width), cmp.Compare(a, b)) })
	smallest := max(int64(svgSmall/svgWidth*float64(t.all[0].width)), 1)
	for _, i := range order[:min(most, len(order))] {
		t.all[i].drawn = t.all[i].width >= smallest
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.all[a].depth, t.all[b].depth), cmp.Compare(t.names[t.all[a].name], t.names[t.all[b].name]))
	})
	// The right end of the children of each box.
	next := make([]float64, len(t.all))
	for _, i := range order {
		b := &t.all[i]
		if b.parent >= 0 {
			b.x = next[b.parent]
			next[b.parent] += t.pixels(b)
		}
		next[i] = b.x
	}
}

func (t *boxes) pixels(b *box) float64 {
	if t.all[0].width == 0 {
		return 0
	}
	return svgWidth * float64(b.width) / float64(t.all[0].width)
}

// box writes one box with its text and its tooltip. y is the position of its top.
func (t *text) box(tree *boxes, b *box, image *SVG, y int) {
	name, width := tree.names[b.name], tree.pixels(b)
	t.add("<g><title>" + escaped(name, maxSVGName) + " (" + escaped(describe(tree, b, image), maxSVGName) + ")</title>")
	t.add(`<rect x="` + pixel(b.x) + `" y="` + strconv.Itoa(y) + `" width="` + pixel(max(width-0.5, 0.1)) + `" height="` + strconv.Itoa(svgRow-1) + `" fill="` + colour(name, b, image.Side) + `"/>`)
	if letters := int(width/svgLetter) - 1; letters >= 3 {
		t.add(`<text x="` + pixel(b.x+3) + `" y="` + strconv.Itoa(y+13) + `" fill="#1b1f24">` + escaped(shortened(name, letters), maxSVGName) + "</text>")
	}
	t.add("</g>\n")
}

// describe returns the tooltip of a box.
func describe(tree *boxes, b *box, image *SVG) string {
	if image.Side == Difference {
		return image.Amount(b.now) + " now, " + image.Amount(b.before) + " before"
	}
	percent := 0.0
	if all := tree.all[0].width; all > 0 {
		percent = 100 * float64(b.width) / float64(all)
	}
	return fmt.Sprintf("%s, %.2f %%", image.Amount(b.now+b.before), percent)
}

func pixel(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// colour returns the colour of a name. For a difference it depends on the change: red for more, green for less.
func colour(name string, b *box, side Side) string {
	if side == Difference {
		change := 0.0
		if b.width > 0 {
			change = float64(b.now-b.before) / float64(b.width)
		}
		faded := func(part float64) int { return 232 - int(100*min(max(part, -part), 1)) }
		if change > 0 {
			return fmt.Sprintf("#e8%02x%02x", faded(change), faded(change))
		}
		return fmt.Sprintf("#%02xe8%02x", faded(change), faded(change))
	}
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

// escaped returns at most that many bytes of a text, escaped for XML and HTML.
func escaped(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most] + "…"
	}
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(s)) // never fails
	return out.String()
}
