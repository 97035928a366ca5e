// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package droplog logs profiles that were dropped after their sender had got a successful answer.
package droplog // import "github.com/otelpprof/otelpprof/internal/droplog"

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/printable"
)

const (
	// interval is the least time between two lines with the same reason and service.
	interval = time.Minute
	// maxKeys limits the combinations of reason and service in memory. Further services share one entry per reason.
	maxKeys = 1000
	// maxServiceText limits the characters of a service name in a line.
	maxServiceText = 300
	otherServices  = "(other services)"
)

// Log writes at most one line per minute for each reason and service. Safe for concurrent use.
type Log struct {
	logger *zap.Logger

	mu   sync.Mutex
	keys map[key]*entry
}

type key struct{ reason, service string }

// entry is the state of a key.
type entry struct {
	logged time.Time
	// unlogged is the number of profiles that were dropped since then.
	unlogged int
}

// New returns a Log.
func New(logger *zap.Logger) *Log { return &Log{logger: logger, keys: map[key]*entry{}} }

// Dropped logs dropped profiles of a service. A line has the number of all profiles since the last line with the same reason
// and service.
func (l *Log) Dropped(reason, service string, profiles int, err error) {
	service = printable.Line(service, maxServiceText)
	k, all := l.count(key{reason, service}, profiles, time.Now())
	if all == 0 {
		return
	}
	l.logger.Warn("Dropped profiles. Further drops with the same reason and service are counted, and logged once per minute.",
		zap.String("reason", k.reason), zap.String("service", k.service), zap.Int("profiles", all), zap.Error(err))
}

// count adds profiles to the entry of k, or to that of otherServices if there are too many entries. It returns the key of the
// entry and the number to log, or 0 if it is too early for a line.
func (l *Log) count(k key, profiles int, now time.Time) (_ key, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[k]
	if e == nil {
		if len(l.keys) >= maxKeys {
			l.forget(now)
		}
		if len(l.keys) >= maxKeys {
			k.service = otherServices
		}
		if e = l.keys[k]; e == nil {
			e = &entry{logged: now.Add(-interval)}
			l.keys[k] = e
		}
	}
	e.unlogged += profiles
	if now.Sub(e.logged) < interval {
		return k, 0
	}
	all = e.unlogged
	e.logged, e.unlogged = now, 0
	return k, all
}

// forget removes the entries that were not logged within the interval.
func (l *Log) forget(now time.Time) {
	for k, e := range l.keys {
		if now.Sub(e.logged) >= interval {
			delete(l.keys, k)
		}
	}
}
