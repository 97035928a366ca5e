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
