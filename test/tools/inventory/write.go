// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// library is Go's standard library and runtime, which every binary contains. Its licence is at go.dev/LICENSE.
func library(info *buildinfo.BuildInfo) module {
	return module{path: "std", version: info.GoVersion, licences: []string{"BSD-3-Clause"}}
}

// expression returns the licence as an SPDX expression.
func (m module) expression() string { return strings.Join(m.licences, " AND ") }

// The used parts of CycloneDX 1.6. There is no time and no serial number, so that equal binaries have equal documents.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Version    string      `json:"specVersion"`
		Revision   int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Reference  string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Licences   []licence  `json:"licenses"`
		Properties []property `json:"properties,omitempty"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

func writeSBOM(out io.Writer, info *buildinfo.BuildInfo, modules []module) error {
	list := bom{Format: "CycloneDX", Version: "1.6", Revision: 1}
	list.Metadata.Component = component{
		Type: "application", Reference: ours, Name: "otelcol-pprof", Licences: []licence{{"Apache-2.0"}},
	}
	for _, setting := range info.Settings {
		if setting.Key == "GOOS" || setting.Key == "GOARCH" || setting.Key == "CGO_ENABLED" {
			list.Metadata.Component.Properties = append(list.Metadata.Component.Properties, property{setting.Key, setting.Value})
		}
	}
	for _, m := range append([]module{library(info)}, modules...) {
		reference := "pkg:golang/" + m.path + "@" + m.version
		c := component{
			Type: "library", Reference: reference, Name: m.path, Version: m.version, PURL: reference,
			Licences: []licence{{m.expression()}},
		}
		if m.sum != "" {
			c.Properties = []property{{"go.sum", m.sum}}
		}
		list.Components = append(list.Components, c)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(list); err != nil {
		return fmt.Errorf("cannot write the list: %w", err)
	}
	return nil
}

// known are the allowed licences, each with a phrase that only its text has, in lower case and with single spaces. The
// first match counts. They only require to keep the text of the licence, except MPL-2.0, which requires to publish the
// source of the covered files. These are unchanged.
var known = []struct {
	name     string
	contains []string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004"}},
	{"Apache-2.0", []string{"licensed under the apache license, version 2.0"}}, // a notice instead of the text
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"MIT", []string{"permission is hereby granted, free of charge"}},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose"}},
}

// licencesIn returns the licences of a module, from the licence files in its root.
func licencesIn(directory string) ([]string, error) {
	if directory == "" {
		return nil, errors.New("it is not in the module cache")
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("cannot read the module: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() || !namesLicence(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("cannot read the licence: %w", err)
		}
		name := classify(string(text))
		if name == "" {
			return nil, fmt.Errorf("%s is a text that is not known here", entry.Name())
		}
		found = append(found, name)
	}
	if len(found) == 0 {
		return nil, errors.New("it has no file named so")
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// namesLicence reports whether a file has the licence of code. Licences of documents (.docs) and source files about
// licences do not count: neither is linked.
func namesLicence(file string) bool {
	name := strings.ToLower(file)
	if strings.HasSuffix(name, ".docs") || strings.HasSuffix(name, ".go") {
		return false
	}
	for _, prefix := range []string{"license", "licence", "copying"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// classify returns the SPDX identifier of a text, or "".
func classify(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, licence := range known {
		if !slices.ContainsFunc(licence.contains, func(part string) bool { return !strings.Contains(text, part) }) {
			return licence.name
		}
	}
	return ""
}
