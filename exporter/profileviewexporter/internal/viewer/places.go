// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"slices"
)

var (
	// drawing is the beginning of the script that draws a flame graph.
	drawing = []byte("<script>\n    pprofUnitDefs = ")
	// places is the beginning of the lists of the positions of functions in stacks. Quotes in names are escaped, so no name
	// contains it.
	places = []byte(`"Places":[`)
	// findPlaces makes these lists from the stacks in the browser, like google/pprof: for each stack, the outermost frame of a
	// function. It also lets other scripts highlight the boxes of a function.
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

// withoutPlaces removes the lists that findPlaces makes from a flame graph, since they are most of the page. It changes the
// page in place.
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
