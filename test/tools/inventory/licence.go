// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
