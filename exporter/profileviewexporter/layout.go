// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"net/http"
	"net/url"
)

// layoutParameter selects the position of the root in a flame graph. All pages accept it, so that links between them keep it.
const layoutParameter = "layout"

// The layouts: the root at the top, as google/pprof draws it, or at the bottom.
const (
	layoutIcicle = "icicle"
	layoutFlame  = "flame"
)

// layoutOf returns the layout that the parameters select.
func layoutOf(values url.Values) (string, error) {
	switch layout := values.Get(layoutParameter); layout {
	case "", layoutIcicle:
		return layoutIcicle, nil
	case layoutFlame:
		return layoutFlame, nil
	default:
		return "", fail(http.StatusBadRequest, "%s must be %s or %s, not %.40q", layoutParameter, layoutIcicle, layoutFlame, layout)
	}
}

// layouts returns links to the same page in each layout.
func layouts(values url.Values, current string) []choice {
	return []choice{
		{Name: "Root at the top", Link: "?" + without(values, layoutParameter).Encode(), Current: current == layoutIcicle},
		{Name: "at the bottom", Link: "?" + with(values, layoutParameter, layoutFlame).Encode(), Current: current == layoutFlame},
	}
}
