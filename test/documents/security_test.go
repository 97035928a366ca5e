// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSecurityNamesTests: each test that docs/security.md names is there.
func TestSecurityNamesTests(t *testing.T) {
	named := regexp.MustCompile("`([a-z0-9_/]+) ((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(read(t, root+"/docs/security.md"), -1)
	require.NotEmpty(t, named)
	sources := map[string]string{}
	for _, match := range named {
		directory, test := match[1], match[2]
		if _, done := sources[directory]; !done {
			sources[directory] = testsIn(t, root+"/"+directory)
		}
		assert.Contains(t, sources[directory], "\nfunc "+test+"(", directory)
	}
}

func testsIn(t *testing.T, directory string) string {
	t.Helper()
	files, err := filepath.Glob(directory + "/*_test.go")
	require.NoError(t, err)
	require.NotEmpty(t, files, directory)
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(content)
	}
	return all.String()
}
