// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v7"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	"go.uber.org/zap"
)

// shutdownRetries is how long retries continue at shutdown, if the context does not end before.
const shutdownRetries = 5 * time.Second

// deliverer passes messages to the next consumer, and retries those that it refuses with a retryable error.
type deliverer struct {
	retry     configretry.BackOffConfig
	next      xconsumer.Profiles
	logger    *zap.Logger
	telemetry *telemetry
	// stopping is closed when the processor is to stop.
	stopping <-chan struct{}
}

// loss says why a message was lost.
type loss struct {
	reason string
	err    error
	// profiles and samples count what the next consumer has not accepted.
	profiles, samples int
}

func newLoss(reason string, err error, rest pprofile.Profiles) *loss {
	return &loss{reason, withoutData(err), rest.ProfileCount(), rest.SampleCount()}
}

// deliver passes a message to the next consumer. It returns nil when that has accepted it, else what was lost.
func (d *deliverer) deliver(ctx context.Context, pd pprofile.Profiles) *loss {
	retries := d.newRetries()
	// The next consumer may free a message without another reference, and a retry may need it.
	pref.RefProfiles(pd)
	defer func() { pref.UnrefProfiles(pd) }()
	for attempt := 0; ; attempt++ {
		retries.checkStopping()
		var err error
		if pd, err = d.attempt(ctx, pd); err == nil {
			return nil
		}
		pause, more := retries.next()
		switch {
		case consumererror.IsPermanent(err):
			return newLoss(lostPermanent, err, pd)
		case ctx.Err() != nil || !more && retries.stopping == nil:
			return newLoss(lostShutdown, err, pd)
		case !d.retry.Enabled || !more:
			return newLoss(lostRetries, err, pd)
		}
		if attempt == 0 {
			d.logger.Warn("The next component refuses profiles for now. They are held and repeated.", zap.Error(err))
		}
		d.telemetry.retried(ctx)
		select {
		case <-time.After(pause):
		case <-retries.stopping:
			// Little time is left: the next attempt is made at once.
		case <-ctx.Done():
			return newLoss(lostShutdown, err, pd)
		}
	}
}

// retries is the schedule of the retries of one message.
type retries struct {
	pauses backoff.ExponentialBackOff
	// limit is the end of the retries. The zero time is no end.
	limit time.Time
	// stopping is closed when the processor is to stop. It is nil once checkStopping has seen that.
	stopping <-chan struct{}
}

func (d *deliverer) newRetries() retries {
	r := retries{stopping: d.stopping, pauses: backoff.ExponentialBackOff{
		InitialInterval:     d.retry.InitialInterval,
		RandomizationFactor: d.retry.RandomizationFactor,
		Multiplier:          d.retry.Multiplier,
		MaxInterval:         d.retry.MaxInterval,
	}}
	if d.retry.MaxElapsedTime > 0 {
		r.limit = time.Now().Add(d.retry.MaxElapsedTime)
	}
	return r
}

// checkStopping shortens the schedule once the processor is to stop, and starts again with short pauses.
func (r *retries) checkStopping() {
	select {
	case <-r.stopping:
		r.stopping = nil
		r.pauses.Reset()
		if until := time.Now().Add(shutdownRetries); r.limit.IsZero() || until.Before(r.limit) {
			r.limit = until
		}
	default:
	}
}

// next returns how long to wait before the next attempt, and whether there is one.
func (r *retries) next() (pause time.Duration, more bool) {
	pause = r.pauses.NextBackOff()
	return pause, r.limit.IsZero() || !time.Now().Add(pause).After(r.limit)
}

// attempt passes pd to the next consumer, as a copy if a retry may need pd unchanged. On an error, rest is what was refused:
// pd, or the part of it that the error names. It has the reference that the caller had to pd.
func (d *deliverer) attempt(ctx context.Context, pd pprofile.Profiles) (rest pprofile.Profiles, err error) {
	given := pd
	if d.retry.Enabled && d.next.Capabilities().MutatesData {
		given = pprofile.NewProfiles()
		pd.CopyTo(given)
		pref.RefProfiles(given)
		defer pref.UnrefProfiles(given)
	}
	err = d.next.ConsumeProfiles(ctx, given)
	if partial := (xconsumererror.Profiles{}); errors.As(err, &partial) {
		rest = partial.Data()
		pref.RefProfiles(rest)
		pref.UnrefProfiles(pd)
		return rest, err
	}
	return pd, err
}

// withoutData returns err without the rest of the message: that has profiles of several senders, and each of them sends its
// own again.
func withoutData(err error) error {
	permanent := consumererror.IsPermanent(err)
	for partial := (xconsumererror.Profiles{}); errors.As(err, &partial); {
		err = partial.Unwrap()
	}
	if permanent && !consumererror.IsPermanent(err) {
		return consumererror.NewPermanent(err)
	}
	return err
}
