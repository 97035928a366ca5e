// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package format translates payloads of all formats: pprof and the formats before it, recordings of JDK Flight Recorder, and texts. Some
// formats can be in a container, and some are recognized by their first bytes.
package format

import (
	"sync"
	"time"

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

// JFR returns the format of a recording of JDK Flight Recorder, from the JDK or a profiler, optionally in a container. The recording
// determines the names of the profiles. labels is the labels snapshot of Pyroscope's agents, or nil. period is the time between two
// samples for a recording that does not have it. 0 means unknown.
func (f *Formats) JFR(labels []byte, period time.Duration) Format {
	return f.Container(func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		profiles, stats, err := f.recordings.Decode(payload, jfr.Source{Source: source, Labels: labels, Period: period})
		f.skipped.log(stats.Skipped)
		return profiles, stats.DecodeStats, err
	}, SuffixJFR)
}

// maxSkippedTypes is the maximum number of types of events that are logged.
const maxSkippedTypes = 1000

// skippedEvents logs each type of events that no profile has when it occurs first. A recording of the JDK has a hundred such types.
type skippedEvents struct {
	logger *zap.Logger
	lock   sync.Mutex
	logged map[string]struct{}
}

func (s *skippedEvents) log(types []jfr.SkippedEvents) {
	if len(types) == 0 || !s.logger.Core().Enabled(zap.DebugLevel) {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, skipped := range types {
		if _, found := s.logged[skipped.Type]; found || len(s.logged) == maxSkippedTypes {
			continue
		}
		s.logged[skipped.Type] = struct{}{}
		s.logger.Debug("Skipped the events of a JFR recording of which there is no profile. The type is logged once.",
			zap.String("type", skipped.Type), zap.Int("events", skipped.Events))
	}
}
