// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// user is who the processes of the image and of the manifests run as.
const user = 10001

// instruction is a line of a Dockerfile, with what it is introduced by.
type instruction struct{ name, arguments, comment string }

// stages reads a Dockerfile as far as ours goes: one instruction a line, comments in lines of their own.
func stages(t *testing.T, text string) (stages [][]instruction) {
	t.Helper()
	comment := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			comment = line
			continue
		}
		name, arguments, found := strings.Cut(line, " ")
		require.True(t, found, line)
		require.Equal(t, strings.ToUpper(name), name)
		if name == "FROM" {
			stages = append(stages, nil)
		}
		require.NotEmpty(t, stages, "%s before the first FROM", name)
		last := len(stages) - 1
		stages[last] = append(stages[last], instruction{name, arguments, comment})
		comment = ""
	}
	return stages
}

func the(stage []instruction, name string) (found []instruction) {
	for _, i := range stage {
		if i.name == name {
			found = append(found, i)
		}
	}
	return found
}

// TestDockerfile reads the file: nothing here builds the image.
func TestDockerfile(t *testing.T) {
	all := stages(t, read(t, "Dockerfile"))
	require.Len(t, all, 2)
	build, image := all[0], all[1]

	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	require.NotNil(t, version)
	assert.Equal(t, "golang:"+version[1]+" AS build", build[0].arguments, "the Go of go.mod")
	assert.Contains(t, read(t, "Makefile"), "\nbuild-full: ")
	assert.Equal(t, "make build-full VERSION=${VERSION}", build[len(build)-1].arguments)

	assert.Equal(t, "scratch", image[0].arguments)
	require.Len(t, the(image, "USER"), 1)
	assert.Equal(t, "10001:10001", the(image, "USER")[0].arguments)
	assert.Empty(t, the(image, "RUN"), "there is no shell")

	copied := map[string]string{}
	for _, c := range the(image, "COPY") {
		fields := strings.Fields(c.arguments)
		copied[fields[len(fields)-1]] = fields[len(fields)-2]
		if !strings.HasPrefix(fields[0], "--from=build") {
			assert.FileExists(t, filepath.Join(root, fields[0]))
		}
	}
	assert.Equal(t, "/src/_build/full/"+program, copied["/"+program])
	assert.Contains(t, read(t, "builder-config.full.yaml"), "name: "+program+" ")

	assert.Equal(t, []string{"/" + program}, list(t, the(image, "ENTRYPOINT")))
	command := list(t, the(image, "CMD"))
	require.Len(t, command, 2)
	file, isConfig := strings.CutPrefix(command[0], "--config=")
	assert.True(t, isConfig)
	require.Contains(t, copied, file)
	assert.Equal(t, gate, command[1])

	text := read(t, copied[file])
	validate(t, nil, text)
	var exposed []int
	for _, port := range the(image, "EXPOSE") {
		exposed = append(exposed, number(t, port.arguments))
		assert.NotEmpty(t, port.comment, "what is port %s for?", port.arguments)
	}
	slices.Sort(exposed)
	c := load(t, nil, text)
	assert.Equal(t, c.listens(t), exposed)
	directories, _ := c.files()
	assert.Empty(t, directories, "there is nothing to write to")
}

// list reads the JSON form of ENTRYPOINT and CMD, which needs no shell.
func list(t *testing.T, instructions []instruction) (arguments []string) {
	t.Helper()
	require.Len(t, instructions, 1)
	require.NoError(t, json.Unmarshal([]byte(instructions[0].arguments), &arguments))
	return arguments
}

// TestDockerIgnore: what the first stage needs is sent to it, what was built here is not.
func TestDockerIgnore(t *testing.T) {
	lines := strings.Fields(read(t, ".dockerignore"))
	for _, left := range []string{".git", ".tools", "_build"} {
		assert.Contains(t, lines, left)
	}
	for _, line := range lines {
		for _, needed := range []string{"Makefile", "go.mod", "builder-config.full.yaml", "internal", "deploy", "receiver"} {
			assert.NotEqual(t, needed, line)
			_, err := os.Stat(filepath.Join(root, needed))
			require.NoError(t, err)
		}
	}
}

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
