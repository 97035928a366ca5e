// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// arrivalAttribute is an attribute of a scope. Its value is the time at which the exporter received the profiles of the scope
// that have no time, in nanoseconds since 1970. It is not written to the pprof.
const arrivalAttribute = "otelpprof.arrival"

// arrivalTimes adds the time of arrival to profiles without a time. It does so before the queue, so that each retry of a request
// makes the same file names, even after a restart.
type arrivalTimes struct {
	*delivery.Exporter
	now func() time.Time
}

// ConsumeProfiles adds the time to a copy, since other exporters may read the message. If there is no memory for a copy, it adds
// nothing. The profiles then have no time.
func (a *arrivalTimes) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	hasTimes := true
	for profile := range walk.Profiles(pd) {
		hasTimes = hasTimes && profile.Time() != 0
	}
	if hasTimes {
		return a.Exporter.ConsumeProfiles(ctx, pd)
	}
	both, err := a.BeginCopy(ctx, pd)
	defer both.Release()
	if err != nil {
		return a.Exporter.ConsumeProfiles(ctx, pd)
	}
	copied := pprofile.NewProfiles()
	pd.CopyTo(copied)
	now := a.now().UnixNano()
	for _, scope := range walk.Scopes(copied) {
		if scopeLacksTime(scope) {
			scope.Scope().Attributes().PutInt(arrivalAttribute, now)
		}
	}
	return a.Exporter.ConsumeProfiles(ctx, copied)
}

func scopeLacksTime(scope pprofile.ScopeProfiles) bool {
	for _, profile := range scope.Profiles().All() {
		if profile.Time() == 0 {
			return true
		}
	}
	return false
}

// timeOf returns the time of a payload for the name of its file. If the payload has none, that is the time of arrival, or 0 if that was not
// added.
func (d *fileDestination) timeOf(payload *pprof.Payload) pcommon.Timestamp {
	if payload.Time != 0 || !d.arrival {
		return payload.Time
	}
	at, found := payload.Scope.Attributes().Get(arrivalAttribute)
	if !found {
		return 0
	}
	return pcommon.Timestamp(max(at.Int(), 0))
}
