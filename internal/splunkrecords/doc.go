// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunkrecords is what the receiver and the connector of Splunk's profiling records have in common: the
// configuration of the translation, and telling what became of the records, in metrics and in the log.
package splunkrecords // import "github.com/otelpprof/otelpprof/internal/splunkrecords"
