// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// jfrFormat is a recording of JDK Flight Recorder, from the JDK or a profiler.
type jfrFormat struct {
	decoder *jfr.Decoder
	// labels is the labels snapshot of Pyroscope's agents, or nil.
	labels []byte
	// period is the time between two samples for a recording that does not have it. 0 means unknown.
	period time.Duration
	// skipped logs the types of events that no profile has.
	skipped *skippedEvents
}

// JFR returns the format of a recording with these labels and this period, optionally in a container.
func (f *Formats) JFR(labels []byte, period time.Duration) Format {
	return containerFormat{
		content: jfrFormat{decoder: f.recordings, labels: labels, period: period, skipped: &f.skipped}, suffix: SuffixJFR, limit: f.limit,
	}
}

// Decode translates a recording. The recording determines the names of the profiles, not source.
func (f jfrFormat) Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
	profiles, stats, err := f.decoder.Decode(payload, jfr.Source{Source: source, Labels: f.labels, Period: f.period})
	f.skipped.log(stats.Skipped)
	return profiles, stats.DecodeStats, err
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
