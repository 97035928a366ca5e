// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
)

// payloadFormat translates one payload to OTLP profiles. The code that reads a request or a file sets the format of each payload that it
// adds to a batch. The result must not refer to the payload. An error must have a class, see [classOf].
type payloadFormat func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error)

// formats makes the formats of one receiver.
type formats struct {
	decoder     *pprof.Decoder
	recordings  *jfr.Decoder
	skipped     skippedEvents
	textOptions text.Options
	// limit is the maximum size of a decompressed payload in bytes.
	limit int
}

// newFormats returns the formats with the options of a receiver.
func newFormats(options pprof.DecodeOptions, keepGeneratedNames bool, logger *zap.Logger) *formats {
	return &formats{
		decoder: pprof.NewDecoder(options),
		recordings: jfr.NewDecoder(jfr.Options{
			Limits: options.Limits, LinkLabels: options.LinkLabels, KeepGeneratedNames: keepGeneratedNames,
			IncludeOriginalPayload: options.IncludeOriginalPayload,
		}),
		skipped:     skippedEvents{logger: logger, logged: map[string]struct{}{}},
		textOptions: text.Options{Limits: options.Limits, KeepGeneratedNames: keepGeneratedNames, IncludeOriginalPayload: options.IncludeOriginalPayload},
		limit:       options.Limits.InflatedBytes,
	}
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
