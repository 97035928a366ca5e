// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunk translates the log records in which Splunk's instrumentation sends profiles to OTLP profiles.
//
// A record contains either a pprof (gzip in base64) with many samples, or the text of one stack, which older agents send.
// The package reads both from all known agents and versions: Java, JavaScript, Python, .NET, and other senders with the
// same format. [Decoder] returns pprofile.Profiles with one dictionary for a whole request, and lists the records that it
// refused. The others are not affected. [RemoveProfiling] leaves only the other log records.
//
// A [Decoder] is safe for concurrent use and pools its working memory. Equal logs give equal profiles.
package splunk // import "github.com/otelpprof/otelpprof/translator/splunk"
