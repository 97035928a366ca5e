// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes runs the built distribution with a fake API server of Kubernetes, which has one pod and can deny all
// permissions. test/cluster uses a real API server.
package kubernetes // import "github.com/otelpprof/otelpprof/test/kubernetes"
