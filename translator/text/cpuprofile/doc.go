// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpuprofile translates the CPU profiles of V8 to OTLP profiles. Node.js (node --cpu-prof), Chrome's DevTools and other programs
// write this JSON format into files that end in .cpuprofile: a tree of calls, the node of each sample, and the times between samples.
package cpuprofile // import "github.com/otelpprof/otelpprof/translator/text/cpuprofile"
