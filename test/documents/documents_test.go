// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

const root = "../.."

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// TestLinks: every link to a file of the repository leads to something.
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
			if target := match[1]; !strings.Contains(target, ":") && !strings.HasPrefix(target, "<") {
				checked++
				_, err := os.Stat(filepath.Join(filepath.Dir(path), target))
				assert.NoError(t, err, "a link of %s", path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.NotZero(t, checked)
}

// TestLimits: the README has the defaults of the code.
func TestLimits(t *testing.T) {
	limits := pprof.DefaultLimits()
	readme := strings.ReplaceAll(read(t, filepath.Join(root, "README.md")), ",", "") // thousands
	for name, limit := range map[string]string{
		"inflated_bytes":       fmt.Sprintf("%d MiB", limits.InflatedBytes>>20),
		"samples":              strconv.Itoa(limits.Samples),
		"sample_types":         strconv.Itoa(limits.SampleTypes),
		"locations_per_sample": strconv.Itoa(limits.LocationsPerSample),
		"labels_per_sample":    strconv.Itoa(limits.LabelsPerSample),
		"string_bytes":         fmt.Sprintf("%d MiB", limits.StringBytes>>20),
		"labels":               strconv.Itoa(limits.Labels),
		"mappings":             strconv.Itoa(limits.Mappings),
		"locations":            strconv.Itoa(limits.Locations),
		"lines":                strconv.Itoa(limits.Lines),
		"lines_per_location":   strconv.Itoa(limits.LinesPerLocation),
		"functions":            strconv.Itoa(limits.Functions),
		"strings":              strconv.Itoa(limits.Strings),
		"comments":             strconv.Itoa(limits.Comments),
	} {
		assert.Contains(t, readme, "(`limits."+name+"`) | "+limit+" | 413 |")
	}
}

// TestComponents: the README names each component of ours that the distribution has.
func TestComponents(t *testing.T) {
	var manifest map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, "builder-config.yaml"))), &manifest))
	readme := read(t, filepath.Join(root, "README.md"))
	const module = "github.com/otelpprof/otelpprof/"
	ours := 0
	for _, section := range []string{"receivers", "processors", "exporters", "connectors", "extensions"} {
		components, _ := manifest[section].([]any)
		for _, component := range components {
			imported, _ := component.(map[string]any)["import"].(string)
			if directory, found := strings.CutPrefix(imported, module); found {
				ours++
				assert.Contains(t, readme, "]("+directory+"/")
				assert.Contains(t, readme, "import: "+imported, "the snippet for other distributions")
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
