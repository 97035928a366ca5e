// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"slices"
	"time"
)

// Series tells what is held of a service and type.
type Series struct {
	Service  string    `json:"service"`
	Type     string    `json:"type"`
	Profiles int       `json:"profiles"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	CPU      bool      `json:"cpu"`
}

// List returns the series of a tenant by service and type, at most limit of them: those behind a service and type, of
// which there may be none. More tells whether others follow.
func (s *Store) List(tenant, service, profileType string, limit int) (found []Series, more bool) {
	after := key{tenant: tenant, service: service, profileType: profileType}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []key
	for k := range s.series {
		if k.tenant == tenant && k.compare(after) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	if more = len(keys) > limit; more {
		keys = keys[:limit]
	}
	found = make([]Series, 0, len(keys))
	for _, k := range keys {
		found = append(found, seriesOf(s.series[k]))
	}
	return found, more
}

func seriesOf(entries []*Entry) Series {
	first := entries[0]
	one := Series{Service: first.Service, Type: first.Type, Profiles: len(entries), First: first.Begin}
	for _, e := range entries {
		one.Bytes += int64(len(e.Compressed))
		one.CPU = one.CPU || e.CPU
		if e.Begin.Before(one.First) {
			one.First = e.Begin
		}
		if e.End.After(one.Last) {
			one.Last = e.End
		}
	}
	return one
}
