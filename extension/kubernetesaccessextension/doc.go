// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package kubernetesaccessextension asks the API server of Kubernetes what the service account of this pod may do.
//
// The processor k8s_attributes passes data on without attributes of pods while it cannot read pods, and reports no error. This
// extension reports that as its component status, and logs which rule the role lacks.
package kubernetesaccessextension // import "github.com/otelpprof/otelpprof/extension/kubernetesaccessextension"
