// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package deliverytest has the helpers that the tests of the exporters pprof and profile_view share.
package deliverytest // import "github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
