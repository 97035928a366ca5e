// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"testing"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
)

// TestLinearTime: the time grows linearly with the text, whatever its words are.
func TestLinearTime(t *testing.T) {
	tokens := []string{" ", "\t", "\v", "\n", "a", "1", "1.0: ", "1.0:", "[1] 1.0: ", "x 1/1 1.0: 5 ", "a 1 1.5: e: ", "(", ") ", "+0x1", "\n\t1 f (b)", "\n1 f (inlined)"}
	for _, head := range []string{"", " ", "a 1 2.5: e:\n\t1 ", "a 1 2.5: e:\n 1 f ("} {
		profiletest.CheckLinear(t, head, "1)", tokens, func(script []byte) {
			_, _, _ = perfscript.Decode(script, pprof.Source{}, text.Options{})
		})
	}
}
