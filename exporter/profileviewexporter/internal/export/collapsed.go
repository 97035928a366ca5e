// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/google/pprof/profile"
)

// Collapsed returns a line for each sample: its frames from the root to the leaf, separated by semicolons, and its value at an
// index of the sample types. It leaves out samples whose value is 0.
func Collapsed(p *profile.Profile, index int, limits Limits) ([]byte, error) {
	t := text{limits: limits}
	for _, s := range p.Sample {
		if s.Value[index] == 0 {
			continue
		}
		separator := ""
		for frame := range frames(s) {
			t.add(separator)
			t.add(plain(nameOf(frame)))
			separator = ";"
		}
		if separator == "" {
			t.add("[no frames]")
		}
		t.add(" " + strconv.FormatInt(s.Value[index], 10) + "\n")
		if t.err != nil {
			return nil, t.err
		}
	}
	return t.bytes, t.err
}

// plain replaces the separators of frames and lines in a name.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, name)
}
