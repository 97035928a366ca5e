// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package splunk translates the log records in which Splunk's instrumentation sends profiles to OTLP profiles.
//
// Such a record holds either a pprof (gzip in base64) with many samples, or the text of one stack, which older agents
// send. The package reads both, of every agent and version known: Java, JavaScript, Python, .NET, and what others send in
// the same form. [Decoder] makes pprofile.Profiles of them, with one dictionary for a whole request, and tells of each
// record that it had to refuse; the others are not affected. [RemoveProfiling] leaves all other log records.
//
// A [Decoder] is safe for concurrent use and keeps its working memory in a pool of its own. Equal logs give equal
// profiles.
package splunk // import "github.com/otelpprof/otelpprof/translator/splunk"
