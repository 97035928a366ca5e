// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package form reads multipart/form-data that lies in memory, without copying it and under limits.
package form
