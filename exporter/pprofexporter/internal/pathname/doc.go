// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pathname makes file names of values that strangers chose.
//
// A [Template] such as "{service.name}/{time}-{profile.id}.pb.gz" is parsed and checked once. [Template.Path] then makes
// of any resource a relative path that has as many segments as the template, none of them empty, hidden, "..", longer
// than 255 bytes or unfit for a common file system. Values that had to be changed for that end in a hash of the original,
// so two of them stay apart. [Template.Matches] tells paths that this template could have made from all others.
package pathname // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pathname"
