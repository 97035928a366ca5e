// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package splunklogprofilereceiver takes OTLP and makes OTLP profiles of the log records in which Splunk's agents send
// profiles.
//
// The OTLP receiver of the Collector's core is inside and does all of the transport. Traces, metrics and profiles go
// straight from it to the next consumer; logs pass the converter, which parts profiling records from all others.
package splunklogprofilereceiver // import "github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
