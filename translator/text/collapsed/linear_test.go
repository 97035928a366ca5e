// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// TestLinearTime: the time grows linearly with the payload. Nodes of a trie or a tree repeat the stack above them, up to the limits.
func TestLinearTime(t *testing.T) {
	lines := []string{"a", ";", " ", "\t", "1", "a;", "a;b ", "\r", "\v", "\xff", "\n", "a;b 1\n", "a 1\r\n", "# a: 1\n", "# "}
	nodes := []string{"\x01a\x00\x01", "\x01a\x00\x00", "\x01a\x01\x01", "\x01a\x01\x00", "\x02a;\x01\x01", "\x02a;\x00\x02", "\x01;\x01\x01"}
	for form, tokens := range map[collapsed.Form][]string{collapsed.Groups: lines, collapsed.Lines: lines, collapsed.Trie: nodes, collapsed.Tree: nodes} {
		options := collapsed.Options{Form: form, Options: text.Options{Limits: pprof.Limits{LocationsPerSample: 100}}}
		head := ""
		if form == collapsed.Trie || form == collapsed.Tree {
			head = "\x00\x00\xff\xff\x03" // The root has many children.
		}
		profiletest.CheckLinear(t, head, " 1", tokens, func(payload []byte) {
			_, _, _ = collapsed.Decode(payload, pprof.Source{}, options)
			collapsed.IsText(payload)
		})
	}
}
