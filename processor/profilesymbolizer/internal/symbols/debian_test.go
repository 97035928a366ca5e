// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// TestDebian compares the debug information of libc that Debian's package libc6-dbg installs.
func TestDebian(t *testing.T) {
	requirement.Symbolizers(t, "llvm-symbolizer")
	libraries, err := filepath.Glob("/lib/*/libc.so.6")
	require.NoError(t, err)
	if len(libraries) == 0 {
		requirement.MissingSymbols(t, "there is no libc of Debian")
	}
	f, err := os.Open(libraries[0])
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := elffile.Open(f, info.Size(), nil)
	require.NoError(t, err)
	ids, err := file.BuildIDs()
	require.NoError(t, err)
	require.NotEmpty(t, ids.GNU)
	debug := "/usr/lib/debug/.build-id/" + ids.GNU[:2] + "/" + ids.GNU[2:] + ".debug"
	if _, err := os.Stat(debug); err != nil {
		requirement.MissingSymbols(t, "libc6-dbg is not installed")
	}
	compare(t, debug, debug)
}
