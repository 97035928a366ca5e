// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcemetadata copies resource attributes to the client metadata. Exporters can then partition by them, and batches
// can keep messages apart by them.
package resourcemetadata // import "github.com/otelpprof/otelpprof/internal/resourcemetadata"
