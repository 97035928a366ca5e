// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiletest is the proof kit of the tests and fuzz targets: what a message must satisfy, when two profiles
// are the same, and where real profiles are found.
//
// [Check] tells whether a pprofile.Profiles keeps the rules of the OTLP profiles protocol, and those that this project
// adds: no duplicate and no orphan in any table of the dictionary. [Diff] compares two messages by meaning, [DiffPprof]
// two pprofs; neither cares for indices, ids or the order of what has none. [Corpus] names the folder of real profiles.
//
// Two values are equal when their content is: every index is resolved first. A double equals another by ==, and NaN
// equals NaN; the entries of a key-value list and the attributes of an owner have no order; the elements of an array,
// the lines of a location and the locations of a stack do.
//
// All of it costs time in proportion to the message, and none of it panics on a message that breaks the rules.
// Nothing here is meant for production code: it depends on google/pprof and on the testing package.
package profiletest // import "github.com/otelpprof/otelpprof/internal/testkit/profiletest"
