// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes runs the built distribution with a stand-in for the API server of Kubernetes, which has one pod and can be
// told to refuse. test/cluster has a real one.
package kubernetes // import "github.com/otelpprof/otelpprof/test/kubernetes"
