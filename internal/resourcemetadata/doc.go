// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcemetadata copies resource attributes to the client metadata, by which exporters choose a partition and
// batches separate messages.
package resourcemetadata // import "github.com/otelpprof/otelpprof/internal/resourcemetadata"
