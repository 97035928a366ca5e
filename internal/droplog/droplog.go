// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package droplog logs profiles that are dropped although their sender was told of success.
package droplog // import "github.com/otelpprof/otelpprof/internal/droplog"

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/printable"
)

const (
	// interval is how long a reason and service is not logged again.
	interval = time.Minute
	// maxKeys bounds the reasons and services that are remembered. Further services share one entry for each reason.
	maxKeys = 1000
	// maxServiceText is what a line repeats of a service.
	maxServiceText = 300
	otherServices  = "(other services)"
)

// Log logs each reason and service once a minute. Safe for concurrent use.
type Log struct {
	logger *zap.Logger

	mu   sync.Mutex
	keys map[key]*entry
}

type key struct{ reason, service string }

// entry is what is known of a key.
type entry struct {
	logged time.Time
	// silent counts the profiles that were dropped since then.
	silent int
}

// New returns a Log.
func New(logger *zap.Logger) *Log { return &Log{logger: logger, keys: map[key]*entry{}} }

// Dropped says that profiles of a service are dropped. A line has the number of all that were since the last one.
func (l *Log) Dropped(reason, service string, profiles int, err error) {
	service = printable.Line(service, maxServiceText)
	k, all := l.count(key{reason, service}, profiles, time.Now())
	if all == 0 {
		return
	}
	l.logger.Warn("Dropped profiles. Further ones of this reason and service are counted, and logged after a minute.",
		zap.String("reason", k.reason), zap.String("service", k.service), zap.Int("profiles", all), zap.Error(err))
}

// count returns under which key the profiles count, and how many a line must tell of, or 0 if it is too early for one.
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
	e.silent += profiles
	if now.Sub(e.logged) < interval {
		return k, 0
	}
	all = e.silent
	e.logged, e.silent = now, 0
	return k, all
}

// forget removes what may be logged again.
func (l *Log) forget(now time.Time) {
	for k, e := range l.keys {
		if now.Sub(e.logged) >= interval {
			delete(l.keys, k)
		}
	}
}
