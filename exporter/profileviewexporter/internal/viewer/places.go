// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"slices"
)

var (
	// drawing begins the script that draws a flame graph.
	drawing = []byte("<script>\n    pprofUnitDefs = ")
	// places begins the list of where a function is in the stacks. Quotes in names are escaped: no name has this.
	places = []byte(`"Places":[`)
	// findPlaces makes these lists of the stacks, as google/pprof does: of each stack the outermost frame of a function. It also lets a
	// script highlight the boxes of a function.
	findPlaces = []byte(`<script>
{
  const draw = stackViewer;
  const watch = viewer;
  viewer = (address, nodes, options) => {
    window.highlightFunction = (name, on) => nodes.forEach((node, i) => { if (node === name) options.hiliter(i, on); });
    watch(address, nodes, options);
  };
  stackViewer = (stacks, nodes) => {
    stacks.Stacks.forEach((stack, i) => {
      const seen = new Set();
      stack.Sources.forEach((source, j) => {
        if (!seen.has(source)) stacks.Sources[source].Places.push({Stack: i, Pos: j});
        seen.add(source);
      });
    });
    draw(stacks, nodes);
  };
}
</script>
`)
)

// withoutPlaces takes out of a flame graph what its script finds in the stacks: it is most of the page. It changes the page.
func withoutPlaces(page []byte) []byte {
	at := bytes.Index(page, drawing)
	if at < 0 {
		return page
	}
	rest := page[at:]
	kept := rest[:0]
	for {
		before, after, found := bytes.Cut(rest, places)
		end := bytes.IndexByte(after, ']')
		if !found || end < 0 {
			kept = append(kept, rest...)
			break
		}
		kept = append(append(kept, before...), places...)
		rest = after[end:]
	}
	return slices.Insert(page[:at+len(kept)], at, findPlaces...)
}
