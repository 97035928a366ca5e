// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                         "Apache-2.0",
		"Licensed under the Apache License,\nVersion 2.0 (the \"License\")":                                    "Apache-2.0",
		"Mozilla Public License, version 2.0":                                                                  "MPL-2.0",
		"Redistribution and use in source and\nbinary forms ... used to endorse or promote products":           "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without modification":                      "BSD-2-Clause",
		"Permission is hereby granted, free of charge, to any person":                                          "MIT",
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee": "ISC",
		"GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007":                                                   "",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                                    "",
		"":                                                                                                     "",
	} {
		assert.Equal(t, want, classify(text), text)
	}
}

func TestLicencesIn(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"one":            {files: map[string]string{"LICENSE": mit, "main.go": ""}, want: []string{"MIT"}},
		"twice the same": {files: map[string]string{"LICENSE": mit, "COPYING.txt": mit}, want: []string{"MIT"}},
		"two": {
			files: map[string]string{"LICENSE": mit, "LICENSE-APACHE.md": "Apache License Version 2.0, January 2004"},
			want:  []string{"Apache-2.0", "MIT"},
		},
		"of documents":    {files: map[string]string{"LICENSE": mit, "LICENSE.docs": "other", "license.go": "other"}, want: []string{"MIT"}},
		"none":            {files: map[string]string{"README": mit}, err: "no file"},
		"one not allowed": {files: map[string]string{"LICENSE": mit, "LICENSE.gpl": "GNU"}, err: "LICENSE.gpl is a text that is not known here"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(directory, file), []byte(text), 0o600))
			}
			got, err := licencesIn(directory)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	_, err := licencesIn("")
	require.ErrorContains(t, err, "module cache")
}

var testModules = []module{{path: "example.com/a", version: "v1.0.0", sum: "h1:x=", licences: []string{"Apache-2.0", "MIT"}}}

func TestSBOM(t *testing.T) {
	var first, second bytes.Buffer
	info := &buildinfo.BuildInfo{GoVersion: "go9"}
	require.NoError(t, writeSBOM(&first, info, testModules))
	require.NoError(t, writeSBOM(&second, info, testModules))
	assert.Equal(t, first.String(), second.String())
	var list bom
	require.NoError(t, json.Unmarshal(first.Bytes(), &list))
	assert.Equal(t, "CycloneDX", list.Format)
	require.Len(t, list.Components, 2)
	assert.Equal(t, "go9", list.Components[0].Version)
	assert.Equal(t, component{
		Type: "library", Reference: "pkg:golang/example.com/a@v1.0.0", Name: "example.com/a", Version: "v1.0.0",
		PURL: "pkg:golang/example.com/a@v1.0.0", Licences: []licence{{"Apache-2.0 AND MIT"}}, Properties: []property{{"go.sum", "h1:x="}},
	}, list.Components[1])
}
