// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy tests what is needed to run the distribution, without a cluster and without a container engine: it
// renders the manifests, decodes every object as a Kubernetes client does, checks what refers to what, and hands each
// configuration of the Collector in them to the built binary. It also reads the dashboard and the alert rules.
//
// It is a module of its own, so that Kubernetes, kustomize and Prometheus stay out of the bundle.
package deploy
