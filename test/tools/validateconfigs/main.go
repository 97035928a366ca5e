// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command validateconfigs is `make validate`: it validates each YAML file under config/, and each YAML block with a
// Collector configuration in a Markdown file, with the distribution that has all components. So no example in the documents
// is out of date. The smaller distribution must accept a file under config/ too, unless its header says that it needs all.
//
// A block without a service section, as in the README of a component, is completed with a pipeline: the Collector checks
// the configuration of all components, used or not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func main() {
	binary := flag.String("binary", fullBinary, "the distribution with all components")
	small := flag.String("small", "_build/otelcol-pprof", "the distribution without Kubernetes, Kafka and OTTL")
	root := flag.String("root", ".", "the directory whose configurations are checked")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	err := run(ctx, *binary, *small, *root)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "validateconfigs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, small, root string) error {
	found, err := find(os.DirFS(root))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("cannot find a configuration below %s", root)
	}
	failed := 0
	for _, c := range found {
		output, err := validate(ctx, binary, c)
		if err == nil && c.distribution != withAll {
			output, err = validateSmall(ctx, small, c)
		}
		if err != nil {
			failed++
			fmt.Printf("%s: %v\n%s\n", c.place, err, output)
		}
	}
	fmt.Printf("%d configurations valid, %d not\n", len(found)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d configurations are not valid", failed, len(found))
	}
	return nil
}

// validateSmall also fails if a file says without need that it needs all components.
func validateSmall(ctx context.Context, binary string, c configuration) (string, error) {
	output, err := validate(ctx, binary, c)
	switch {
	case c.distribution == both:
		return output, err
	case err != nil:
		return "", nil
	default:
		return "", errors.New("the header names " + fullBinary + ", but the smaller distribution has all components that the file needs")
	}
}

// validate runs the binary and returns its output.
func validate(ctx context.Context, binary string, c configuration) (string, error) {
	arguments := []string{"validate", "--feature-gates=service.profilesSupport", "--config", "yaml:" + c.text}
	if !c.hasPipelines {
		arguments = append(arguments, "--config", "yaml:"+pipeline)
	}
	output, err := exec.CommandContext(ctx, binary, arguments...).CombinedOutput()
	return string(output), err
}

// pipeline completes a configuration that has no pipelines.
const pipeline = `
receivers: {otlp/validate: {protocols: {grpc: {}}}}
exporters: {nop/validate: {}}
service: {pipelines: {profiles/validate: {receivers: [otlp/validate], exporters: [nop/validate]}}}
`

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
