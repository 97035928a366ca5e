// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profilesymbolizer names the addresses of native frames: it adds functions, inlined functions, files and lines to locations that
// have a build id and an address.
package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"
