// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
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
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}
