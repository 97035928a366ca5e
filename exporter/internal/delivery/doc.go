// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package delivery has the code that the exporters pprof and profile_view share.
//
// An [Exporter] keeps the memory of each message, also in the queue. [Deliver] encodes a message and passes each pprof to a function
// that writes it. Its error separates profiles to retry from dropped ones. [Telemetry] counts the results.
package delivery // import "github.com/otelpprof/otelpprof/exporter/internal/delivery"
