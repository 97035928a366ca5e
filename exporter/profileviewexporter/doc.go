// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package profileviewexporter holds the most recent profiles in memory, and serves them to browsers, to go tool pprof and to
// go build.
//
// Profiles come as pprofs from the encoder, and are held by service and type (hold.go, internal/recent). A request chooses
// some of them (choose.go, query.go, selectors.go); they are merged (internal/merge), and drawn by the pages of google/pprof
// (internal/viewer), or by ours (own.go).
package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"
