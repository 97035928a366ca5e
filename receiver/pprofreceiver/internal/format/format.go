// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package format translates payloads of all formats: pprof and the formats before it, recordings of JDK Flight Recorder, and texts. Some
// formats can be in a container, and some are recognized by their first bytes.
package format

import (
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// Format translates one payload to OTLP profiles. The code that reads a request or a file sets the format of each payload that it adds to
// a batch. The result must not refer to the payload. An error must have a class, see [refusal.Of].
type Format func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error)

// Formats makes the formats of one receiver.
type Formats struct {
	decoder    *pprof.Decoder
	recordings *jfr.Decoder
	skipped    skippedEvents
	text       text.Options
	// limit is the maximum size of a decompressed payload in bytes.
	limit int
}

// New returns the formats with the options of a receiver.
func New(options pprof.DecodeOptions, keepGeneratedNames bool, logger *zap.Logger) *Formats {
	return &Formats{
		decoder: pprof.NewDecoder(options),
		recordings: jfr.NewDecoder(jfr.Options{
			Limits: options.Limits, LinkLabels: options.LinkLabels, KeepGeneratedNames: keepGeneratedNames,
			IncludeOriginalPayload: options.IncludeOriginalPayload,
		}),
		skipped: skippedEvents{logger: logger, logged: map[string]struct{}{}},
		text:    text.Options{Limits: options.Limits, KeepGeneratedNames: keepGeneratedNames, IncludeOriginalPayload: options.IncludeOriginalPayload},
		limit:   options.Limits.InflatedBytes,
	}
}
