// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofexporter writes profiles as gzipped pprof, for go tool pprof and every other program that reads pprof.
//
// An exporter has one destination, which is a section of its configuration: file writes each pprof to a file in a directory,
// http sends it to a backend. Each destination implements the interface destination. The package exporter/internal/delivery,
// which other exporters use too, encodes the profiles of a request and decides which of them to retry.
package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"
