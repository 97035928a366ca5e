// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configuration is the text of one Collector configuration, whole or in part.
type configuration struct {
	// place has the file, and the line where the text begins.
	place        string
	text         string
	hasPipelines bool
	// distribution says which ones must accept it.
	distribution distribution
}

// distribution is a set of components.
type distribution int

const (
	// withAll is for an example of a component, which may need any other.
	withAll distribution = iota
	// onlyWithAll is for a file of config/ whose header says that it needs all components.
	onlyWithAll
	// both is for all other files of config/.
	both
)

// fullBinary is what the command in the header of a file names if the file needs the distribution with all components.
const fullBinary = "_build/full/otelcol-pprof"

// find returns the configurations of a tree in lexical order. It skips directories that begin with a dot or an
// underscore, and testdata, which has invalid configurations.
func find(tree fs.FS) ([]configuration, error) {
	var found []configuration
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		isConfig := path.Ext(base) == ".yaml" && (strings.HasPrefix(name, "config/") || name == "packaging/config.yaml")
		if !isConfig && path.Ext(base) != ".md" {
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		blocks := []block{{line: 1, text: string(content)}}
		if !isConfig {
			blocks = yamlBlocks(string(content))
		}
		for _, b := range blocks {
			c, err := b.configuration(name)
			if err != nil {
				return err
			}
			if c != nil {
				if isConfig {
					c.distribution = both
					if strings.Contains(c.text, fullBinary) {
						c.distribution = onlyWithAll
					}
				}
				found = append(found, *c)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot collect the configurations: %w", err)
	}
	return found, nil
}

// block is a YAML block of a document.
type block struct {
	line int
	text string
}

// yamlBlocks returns the fenced blocks of a Markdown text that are marked as YAML.
func yamlBlocks(text string) []block {
	var blocks []block
	var current *block
	for i, line := range slices.Collect(strings.Lines(text)) {
		fence := strings.TrimSpace(line)
		switch {
		case current == nil && (fence == "```yaml" || fence == "```yml"):
			current = &block{line: i + 2}
		case current != nil && fence == "```":
			blocks = append(blocks, *current)
			current = nil
		case current != nil:
			current.text += line
		}
	}
	return blocks
}

// The sections of a Collector configuration. A manifest of the builder has some of these names too, but with lists.
var sections = []string{"receivers", "processors", "exporters", "connectors", "extensions", "service"}

// configuration returns nil if the block is not a Collector configuration.
func (b block) configuration(name string) (*configuration, error) {
	place := fmt.Sprintf("%s:%d", name, b.line)
	var root map[string]any
	if err := yaml.Unmarshal([]byte(b.text), &root); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	isConfiguration := false
	for _, section := range sections {
		if _, isMap := root[section].(map[string]any); isMap {
			isConfiguration = true
		}
	}
	if !isConfiguration {
		return nil, nil
	}
	service, _ := root["service"].(map[string]any)
	return &configuration{place: place, text: b.text, hasPipelines: service["pipelines"] != nil}, nil
}
