// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package clients runs real profiler clients against the built distribution, and looks for what they profiled in the
// files that it writes. It is a module of its own: what the clients depend on stays out of the bundle.
//
// OTELPPROF_BINARY names the distribution. The clients for Node.js need node and npm, and skip without.
package clients
