// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package options has the options that the exporters pprof and profile_view share: encoding, sending queue, and tenant.
package options // import "github.com/otelpprof/otelpprof/exporter/internal/options"
