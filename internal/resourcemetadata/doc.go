// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcemetadata makes attributes of resources metadata of the client, which is what exporters choose a
// partition by and batches keep apart.
package resourcemetadata // import "github.com/otelpprof/otelpprof/internal/resourcemetadata"
