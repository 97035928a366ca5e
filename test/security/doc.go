// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package security tests what docs/security.md promises of the built distribution: who is let in on every listener, that
// no secret is shown, and that nothing from outside reaches a log, a file name or a page as it is.
package security
