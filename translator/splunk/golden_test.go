// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func frameText(function, file string, line, column int64) string {
	return fmt.Sprintf("%s(%s:%d:%d)", function, file, line, column)
}

var update = flag.Bool("update", false, "update the golden files in testdata/splunk")

// TestGolden compares the profiles of each capture with a readable text. To update the files, run go test
// ./translator/splunk -run TestGolden -update.
func TestGolden(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.name, func(t *testing.T) {
			pd, _ := mustDecode(t, c.logs(t), Options{})
			var text strings.Builder
			text.WriteString(profiletest.Render(pd))
			for _, p := range profilesOf(pd) {
				fmt.Fprintf(&text, "id %s\n", p.ProfileID())
			}
			got := text.String()
			path := filepath.Join(profiletest.Testdata(t, "splunk"), strings.TrimSuffix(c.name, ".pb")+".golden.txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want := must.Get(os.ReadFile(path))(t)
			assert.Equal(t, string(want), got)
		})
	}
}
