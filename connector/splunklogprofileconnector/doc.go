// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package splunklogprofileconnector connects a logs pipeline to a profiles pipeline. It translates the log records in
// which Splunk's agents send profiles to OTLP profiles. It can pass all other records to another logs pipeline.
package splunklogprofileconnector // import "github.com/otelpprof/otelpprof/connector/splunklogprofileconnector"
