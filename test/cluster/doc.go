// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster applies the manifests to a real API server of Kubernetes, and runs the built distribution beside it with the token
// of a service account, as in a pod. `make test-cluster` builds the API server and the controller manager from their modules once.
// etcd and kubectl must be installed. No kubelet runs: the tests report the state of pods and nodes themselves.
// In TestDiscovery the test is also the program in each of a thousand pods.
package cluster
