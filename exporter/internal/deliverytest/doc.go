// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package deliverytest has what the tests of all exporters of pprofs share.
package deliverytest // import "github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
