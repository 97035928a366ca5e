// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package splunklogprofilereceiver receives OTLP, and translates the log records in which Splunk's agents send profiles
// to OTLP profiles.
//
// The OTLP receiver of the Collector's core does the transport. It passes traces, metrics and profiles to the next
// consumers, and logs to the converter, which separates profiling records from all others.
package splunklogprofilereceiver // import "github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
