// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// TestDebian compares the debug information of libc that Debian's package libc6-dbg installs.
func TestDebian(t *testing.T) {
	requirement.Symbolizers(t, "llvm-symbolizer")
	libraries := must.Get(filepath.Glob("/lib/*/libc.so.6"))(t)
	if len(libraries) == 0 {
		requirement.MissingSymbols(t, "there is no libc of Debian")
	}
	f := must.Get(os.Open(libraries[0]))(t)
	defer f.Close()
	info := must.Get(f.Stat())(t)
	file := must.Get(elffile.Open(f, info.Size(), nil))(t)
	gnu, _, err := file.BuildIDs()
	require.NoError(t, err)
	require.NotEmpty(t, gnu)
	debug := "/usr/lib/debug/.build-id/" + gnu[:2] + "/" + gnu[2:] + ".debug"
	if _, err := os.Stat(debug); err != nil {
		requirement.MissingSymbols(t, "libc6-dbg is not installed")
	}
	compare(t, debug, debug)
}
