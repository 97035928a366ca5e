// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The lists that the script of a page makes are left out, with any names.
func TestWithoutPlaces(t *testing.T) {
	const name = `","Places":[{"x":1}],"<script>` + "\n    pprofUnitDefs = "
	_, body := render(t, example("main.go", name), "flamegraph", "")
	assert.Equal(t, 1, strings.Count(body, "<script>\n    pprofUnitDefs = "))
	assert.Equal(t, 2, strings.Count(body, `"Places":[]`), "of the root and of the function")
	assert.NotContains(t, body, `"Places":[{`)
	assert.Equal(t, 1, strings.Count(body, "const draw = stackViewer;"))
	assert.Contains(t, body, `\"Places\":[{\"x\":1}]`)
	_, body = render(t, example("main.go", name), "top", "")
	assert.NotContains(t, body, "stackViewer")
}
