// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package pprofexporter writes profiles as gzipped pprof, for go tool pprof and everything else that reads it.
//
// An exporter has one destination, a section of its configuration: file keeps each pprof as a file of a directory, http
// sends it to another system. Each destination is an implementation of the interface of that name. What both share with
// other exporters, turning a request into pprofs and telling what to repeat from what is lost, is in exporter/internal/delivery.
package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"
