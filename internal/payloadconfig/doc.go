// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package payloadconfig is the configuration that all components have in common which translate pprof: the limits of a
// payload, and the labels that become links.
package payloadconfig // import "github.com/otelpprof/otelpprof/internal/payloadconfig"
