// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunkrecords has the code that the receiver and the connector for Splunk's profiling records share: the
// configuration of the translation, its metrics, and the log of refused records.
package splunkrecords // import "github.com/otelpprof/otelpprof/internal/splunkrecords"
