// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profileviewexporter keeps the most recent profiles in memory, and serves them to browsers, to Grafana, to go tool pprof and to
// go build.
//
// The encoder makes pprofs of profiles. The store has their samples, and the symbols of each service once (exporter.go, internal/store). A
// request is a visit to a page (routes.go, answer.go) or a call of Pyroscope's API (api.go), which the page uses too. It selects some samples
// (selector.go, filter.go, selection.go), which become a tree of functions (tree.go) or one pprof (merge.go).
package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"
