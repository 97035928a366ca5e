// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package form parses multipart/form-data in memory, without copying it and under limits.
package form
