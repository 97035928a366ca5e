// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package targetdiscoveryextension discovers targets for the scrape section of the pprof receiver, by the discovery and
// relabelling of Prometheus.
//
// Each entry of the configuration is a source, which has a discoverer of Prometheus and keeps the groups that it sends. Rules
// make targets of the labels of a group. The extension joins the targets of all sources, limits their number, and passes them
// to its subscribers.
package targetdiscoveryextension // import "github.com/otelpprof/otelpprof/extension/targetdiscoveryextension"
