// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// llvmSymbolizer returns the frames of addresses by llvm-symbolizer, with the linker's names.
func llvmSymbolizer(t *testing.T, name string, list []uint64) [][]frame {
	t.Helper()
	var input strings.Builder
	for _, a := range list {
		fmt.Fprintf(&input, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer", "--inlines", "--no-demangle", "--obj="+name)
	cmd.Stdin = strings.NewReader(input.String())
	out := must.Get(cmd.Output())(t)
	var result [][]frame
	for block := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n\n"), "\n\n") {
		var frames []frame
		lines := strings.Split(block, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			place, _, _ := cutLast(lines[i+1], ":")
			file, line, _ := cutLast(place, ":")
			number, err := strconv.Atoi(line)
			require.NoError(t, err, block)
			if file == "??" {
				file = ""
			}
			frames = append(frames, frame{lines[i], path.Clean(file), number})
		}
		result = append(result, frames)
	}
	require.Len(t, result, len(list))
	return result
}
