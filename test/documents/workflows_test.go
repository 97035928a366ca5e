// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestWorkflows: an action is named by the hash of a commit, since its owner can move a tag, and the token of a job may do only
// what the job says.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pinned := regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		text := read(t, file)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "uses: ") {
				assert.Regexp(t, pinned, strings.TrimSpace(line), file)
			}
		}
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct{ Permissions map[string]string }
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &workflow))
		assert.Equal(t, map[string]string{}, workflow.Permissions, file)
		for name, job := range workflow.Jobs {
			assert.NotEmpty(t, job.Permissions, "the job %s of %s", name, file)
		}
	}
}
