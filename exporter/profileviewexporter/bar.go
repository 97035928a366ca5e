// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed bar.html
var barText string

var barTemplate = template.Must(template.New("bar").Parse(barText))

// bar is what stands above the pages of google/pprof: where from and of when a profile is, and the way to others.
type bar struct {
	*about
	Legend *legend
	// Coloured says that the page shows the difference in colours.
	Coloured bool
}

func (b *bar) html() ([]byte, error) {
	var body bytes.Buffer
	if err := barTemplate.Execute(&body, b); err != nil {
		return nil, fmt.Errorf("cannot make the bar of a page: %w", err)
	}
	return body.Bytes(), nil
}
