// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package documents tests what the Markdown files say, as far as a program can. That their configurations load is for
// `make validate`.
package documents
