// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)#?([^)]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	code    = regexp.MustCompile("(?s)```.*?```")
)

// TestLinks: every link to a file of the repository leads to something, and every link to a heading to one.
func TestLinks(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") && name != "..") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		for _, match := range link.FindAllStringSubmatch(read(t, path), -1) {
			target, anchor := match[1], match[2]
			if strings.Contains(target, ":") || strings.HasPrefix(target, "<") {
				continue
			}
			checked++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			_, err := os.Stat(file)
			assert.NoError(t, err, "a link of %s", path)
			if anchor != "" && filepath.Ext(file) == ".md" && err == nil {
				assert.Contains(t, anchors(t, file), anchor, "a link of %s to %s", path, file)
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.NotZero(t, checked)
}

// anchors returns what the links to the headings of a file are called.
func anchors(t *testing.T, path string) (names []string) {
	t.Helper()
	text := code.ReplaceAllString(read(t, path), "")
	for _, match := range heading.FindAllStringSubmatch(link.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, match[1]))
	}
	return names
}

// TestComponents: the README links each component of ours that the distribution has, and the manifest for other distributions
// names it.
func TestComponents(t *testing.T) {
	var manifest map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, "builder-config.full.yaml"))), &manifest))
	readme := read(t, filepath.Join(root, "README.md"))
	snippet := read(t, filepath.Join(root, "docs", "distribution.md"))
	const module = "github.com/otelpprof/otelpprof/"
	ours := 0
	for _, section := range []string{"receivers", "processors", "exporters", "connectors", "extensions"} {
		components, _ := manifest[section].([]any)
		for _, component := range components {
			path, imported := component.(map[string]any)["import"].(string)
			key := "import: "
			if !imported { // a module of its own
				path, _, _ = strings.Cut(component.(map[string]any)["gomod"].(string), " ")
				key = "gomod: "
			}
			if directory, found := strings.CutPrefix(path, module); found {
				ours++
				assert.Contains(t, readme, "]("+directory+"/")
				assert.Contains(t, snippet, key+path)
			}
		}
	}
	assert.NotZero(t, ours)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	return string(content)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestManifests: the smaller distribution has each component in the version of the one with all components, and no others.
func TestManifests(t *testing.T) {
	small, full := parts(t, "builder-config.yaml"), parts(t, "builder-config.full.yaml")
	assert.Subset(t, full, small)
	var more []string
	for part := range full {
		if _, inBoth := small[part]; !inBoth {
			more = append(more, path.Base(part))
		}
	}
	assert.ElementsMatch(t, []string{
		"kafkareceiver", "kafkaexporter",
		"transformprocessor", "filterprocessor", "countconnector",
		"k8sattributesprocessor", "kubernetesaccessextension", "targetdiscoveryextension",
	}, more, "what docs/distribution.md and the header of builder-config.yaml say")
}

// parts returns the versions of the components and providers of a manifest.
func parts(t *testing.T, name string) map[string]string {
	t.Helper()
	var manifest map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, name))), &manifest))
	versions := map[string]string{}
	for section, list := range manifest {
		parts, isList := list.([]any)
		if !isList || section == "replaces" {
			continue
		}
		for _, part := range parts {
			part := part.(map[string]any)
			module, version, found := strings.Cut(part["gomod"].(string), " ")
			require.True(t, found, part)
			if imported, ok := part["import"].(string); ok {
				module = imported
			}
			versions[module] = version
		}
	}
	return versions
}

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
	files := must.Get(filepath.Glob(directory + "/*_test.go"))(t)
	require.NotEmpty(t, files, directory)
	var all strings.Builder
	for _, file := range files {
		content := must.Get(os.ReadFile(file))(t)
		all.Write(content)
	}
	return all.String()
}

// TestWorkflows: an action is named by the hash of a commit, since its owner can move a tag, and the token of a job may do only
// what the job says.
func TestWorkflows(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml")))(t)
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
