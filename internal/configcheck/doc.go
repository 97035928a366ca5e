// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configcheck reads and checks the configurations of components, so that mistakes are found before anything starts.
//
// [Unmarshal] refuses unknown keys, says what replaces the options of earlier versions, and accepts sizes with a unit. [Durations] refuses durations without a unit. The other
// functions check single values.
package configcheck // import "github.com/otelpprof/otelpprof/internal/configcheck"
