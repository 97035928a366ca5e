// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pathname builds safe file paths from untrusted attribute values.
//
// A [Template] such as "{service.name}/{time}-{profile.id}.pb.gz" is parsed and checked once. For each resource, [Template.Path]
// returns a relative path that has as many segments as the template. No segment is empty, hidden, "..", longer than 255 bytes, or
// invalid on a common file system. A value that had to be changed ends in a hash of the original, so that different values have
// different paths. [Template.Matches] returns whether the template can return a path.
package pathname // import "github.com/otelpprof/otelpprof/exporter/internal/pathname"
