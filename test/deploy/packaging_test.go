// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestPackageMemory: the packages have one limit for the memory, and memory_limiter refuses below it: its percentage would be one of
// the memory of the host.
func TestPackageMemory(t *testing.T) {
	match := regexp.MustCompile(`(?m)^GOMEMLIMIT=(\w+)B$`).FindStringSubmatch(read(t, "packaging/otelcol-pprof.conf"))
	require.NotNil(t, match, "no GOMEMLIMIT")
	goal, err := resource.ParseQuantity(match[1])
	require.NoError(t, err)
	c := load(t, nil, read(t, "packaging/config.yaml"))
	limiter := c["processors"].(map[string]any)["memory_limiter"].(map[string]any)
	assert.NotContains(t, limiter, "limit_percentage")
	limit := int64(limiter["limit_mib"].(int)) << 20
	assert.Less(t, limit, goal.Value())
	assert.Greater(t, limit, goal.Value()*8/10)
}

// TestPostinstall: an installation enables and starts the service. An upgrade only restarts it if it runs. No failure of systemd fails
// the installation.
func TestPostinstall(t *testing.T) {
	first := []string{"daemon-reload", "enable otelcol-pprof.service", "restart otelcol-pprof.service"}
	upgrade := []string{"daemon-reload", "try-restart otelcol-pprof.service"}
	for name, tt := range map[string]struct {
		arguments, want []string
	}{
		"deb":            {[]string{"configure", ""}, first},
		"deb, upgraded":  {[]string{"configure", "0.1.0"}, upgrade},
		"rpm":            {[]string{"1"}, first},
		"rpm, upgraded":  {[]string{"2"}, upgrade},
		"without either": {nil, first},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			calls := filepath.Join(directory, "calls")
			fake := "#!/bin/sh\necho \"$@\" >>" + calls + "\nexit 1\n"
			require.NoError(t, os.WriteFile(filepath.Join(directory, "systemctl"), []byte(fake), 0o700))
			script := strings.ReplaceAll(read(t, "packaging/postinstall.sh"), "/run/systemd/system", directory)
			command := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", script, "postinstall.sh"}, tt.arguments...)...)
			command.Env = []string{"PATH=" + directory}
			output, err := command.CombinedOutput()
			require.NoError(t, err, string(output))
			assert.Empty(t, string(output))
			called, err := os.ReadFile(calls)
			require.NoError(t, err)
			assert.Equal(t, strings.Join(tt.want, "\n")+"\n", string(called))
		})
	}
}

// TestDependabot: it looks after each module and each Dockerfile.
func TestDependabot(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config))
	directories := map[string][]string{}
	for _, update := range config.Updates {
		directories[update.Ecosystem] = update.Directories
	}
	found := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") && name != "..") {
			return fs.SkipDir
		}
		ecosystem := map[string]string{"go.mod": "gomod", "Dockerfile": "docker"}[entry.Name()]
		if ecosystem == "" {
			return nil
		}
		found++
		directory, err := filepath.Rel(root, filepath.Dir(file))
		require.NoError(t, err)
		covered := false
		for _, pattern := range directories[ecosystem] {
			matches, err := path.Match(pattern, path.Join("/", filepath.ToSlash(directory)))
			require.NoError(t, err)
			covered = covered || matches
		}
		assert.True(t, covered, "%s of /%s", ecosystem, directory)
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, found, 5)
}
