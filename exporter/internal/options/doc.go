// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the options that all exporters of pprofs have: how profiles become pprofs, how requests wait, and
// whom profiles belong to.
package options // import "github.com/otelpprof/otelpprof/exporter/internal/options"
