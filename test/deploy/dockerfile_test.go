// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
