// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"fmt"
	"strings"
)

// maxDifferences bounds the text that a comparison returns.
const maxDifferences = 30

// differences collects the lines of a comparison: "-" stands for what only the first has, "+" for the second.
type differences struct {
	lines   []string
	unnamed int
}

func (d *differences) add(format string, args ...any) {
	if len(d.lines) == maxDifferences {
		d.unnamed++
		return
	}
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// field adds a line when a field has two values.
func field[T comparable](d *differences, where, name string, a, b T) {
	if a != b {
		d.add("%s%s: - %s + %s", where, name, shown(a), shown(b))
	}
}

// shown cuts what would fill the screen.
func shown(v any) string {
	const most = 400
	text := fmt.Sprintf("%+v", v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if len(text) > most {
		return fmt.Sprintf("%s... (%d bytes)", text[:most], len(text))
	}
	return text
}

func (d *differences) text() string {
	if d.unnamed > 0 {
		d.lines = append(d.lines, fmt.Sprintf("and %d more differences", d.unnamed))
	}
	return strings.Join(d.lines, "\n")
}
