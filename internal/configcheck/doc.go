// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configcheck reads the configurations of components and finds what is wrong in them before anything starts.
//
// [Unmarshal] refuses unknown keys and takes sizes in bytes with a unit. [Durations] refuses times that were written
// without one. The other functions check single values.
package configcheck // import "github.com/otelpprof/otelpprof/internal/configcheck"
