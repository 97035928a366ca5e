// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// arrivalAttribute is an attribute of a scope: when its profiles without a time came, in nanoseconds. The pprof does not
// have it.
const arrivalAttribute = "otelpprof.arrival"

// arrivals notes when profiles without a time came. It does so before the queue: a request that is repeated, also after a
// restart, must find the names that it made before.
type arrivals struct {
	*delivery.Exporter
	now func() time.Time
}

// ConsumeProfiles notes the time in a copy, since others may read the message. Without memory for a copy nothing is noted:
// such a profile keeps the time that it has.
func (a *arrivals) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	if !lacksTime(pd) {
		return a.Exporter.ConsumeProfiles(ctx, pd)
	}
	both, err := a.ReserveCopy(ctx, pd)
	if err != nil {
		return a.Exporter.ConsumeProfiles(ctx, pd)
	}
	defer both.Release()
	noted := pprofile.NewProfiles()
	pd.CopyTo(noted)
	now := a.now().UnixNano()
	for _, resource := range noted.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			if scopeLacksTime(scope) {
				scope.Scope().Attributes().PutInt(arrivalAttribute, now)
			}
		}
	}
	return a.Exporter.ConsumeProfiles(ctx, noted)
}

func lacksTime(pd pprofile.Profiles) bool {
	for _, resource := range pd.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			if scopeLacksTime(scope) {
				return true
			}
		}
	}
	return false
}

func scopeLacksTime(scope pprofile.ScopeProfiles) bool {
	for _, profile := range scope.Profiles().All() {
		if profile.Time() == 0 {
			return true
		}
	}
	return false
}

// timeOf is the time of a payload, or of its arrival if it has none and that was noted.
func timeOf(payload *pprof.Payload) pcommon.Timestamp {
	if payload.Time != 0 {
		return payload.Time
	}
	at, found := payload.Scope.Attributes().Get(arrivalAttribute)
	if !found {
		return 0
	}
	return pcommon.Timestamp(max(at.Int(), 0))
}
