// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built distribution from outside, as a process with real sockets and real files.
//
// OTELPPROF_BINARY names the binary; `make test` builds it and sets that. Without it the tests skip, or fail where CI is
// set. All servers are on loopback, on ports of their own, and every process is ended by the test that started it.
package e2e
