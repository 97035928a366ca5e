// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster applies the manifests to the API of a real Kubernetes, and runs the built distribution beside it with a
// token, as a pod would have it. `make test-cluster` builds the API server and the controller manager from their modules,
// once; etcd and kubectl are the system's. No kubelet runs: what it would report of a pod, the tests report. In TestDiscovery
// the test is the program behind each of a thousand pods, too.
package cluster
