// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profileviewexporter keeps the most recent profiles in memory, and serves them to browsers, to Grafana, to go tool pprof and to
// go build.
//
// The encoder makes pprofs of profiles. The store has their samples, and the symbols of each service once (consume.go, internal/store,
// internal/symbols). A request selects some of them (internal/query). Their samples become a tree of functions (internal/tree) or one pprof
// (internal/merge). The page (internal/page) uses Pyroscope's API (internal/querier) and the lists and downloads of this package.
package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"
