// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml

// Package splunklogprofileconnector makes OTLP profiles of the log records in which Splunk's agents send profiles, between
// a pipeline of logs and one of profiles, and hands all other records on to a pipeline of logs.
package splunklogprofileconnector // import "github.com/otelpprof/otelpprof/connector/splunklogprofileconnector"
