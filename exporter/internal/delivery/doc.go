// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery is what all exporters of pprofs share, whatever they write to.
//
// An [Exporter] has the memory of each message reserved, in the queue too. [Deliver] hands the pprofs of a message to
// whatever writes them, and tells what is to be repeated from what is lost. A [Claim] is the memory that this takes, and a
// [Telemetry] counts what came of it.
package delivery // import "github.com/otelpprof/otelpprof/exporter/internal/delivery"
