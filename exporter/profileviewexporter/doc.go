// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profileviewexporter keeps the most recent profiles in memory, and serves them to browsers, to go tool pprof and to go
// build.
//
// The encoder makes pprofs of profiles. The store has them by service and type (consume.go, internal/recent). A request selects
// some of them (choose.go, query.go, selectors.go). They are merged (internal/merge), and drawn by the pages of google/pprof
// (internal/viewer) or by the pages of this package (own.go).
package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"
