// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v7"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
)

// shutdownRetries limits how long retries continue after the shutdown has begun.
const shutdownRetries = 5 * time.Second

// loss describes a message, or a part of it, that was lost.
type loss struct {
	reason string
	err    error
	// profiles and samples count what the next consumer has not accepted.
	profiles, samples int
}

// passOn passes a message to the next consumer, and retries after retryable errors. It returns nil when the consumer has accepted it, or else
// the loss.
func (b *batching) passOn(ctx context.Context, next xconsumer.Profiles, pd pprofile.Profiles) *loss {
	retries := b.newRetries()
	// Without this reference, the next consumer could free the message, and a retry needs it.
	pref.RefProfiles(pd)
	defer func() { pref.UnrefProfiles(pd) }()
	// Without retries, the next consumer may change the message. So it is counted before.
	lost := loss{profiles: pd.ProfileCount(), samples: pd.SampleCount()}
	for attempt := 0; ; attempt++ {
		retries.checkStopping()
		rest, err := b.attempt(ctx, next, pd)
		if err == nil {
			return nil
		}
		if rest != pd {
			lost = loss{profiles: rest.ProfileCount(), samples: rest.SampleCount()}
		}
		pd, lost.err = rest, withoutData(err)
		pause, more := retries.next()
		switch {
		case joinederrors.IsPermanent(err):
			return lost.because(lostPermanent)
		case ctx.Err() != nil || !more && retries.stopping == nil:
			return lost.because(lostShutdown)
		case !b.cfg.RetryConfig.Enabled || !more:
			return lost.because(lostRetries)
		}
		if attempt == 0 {
			b.logger.Warn("The next component refused profiles. They are held and retried.", zap.Error(err))
		}
		b.telemetry.retried(ctx)
		select {
		case <-time.After(pause):
		case <-retries.stopping:
			// Little time is left, so the next attempt begins at once.
		case <-ctx.Done():
			return lost.because(lostShutdown)
		}
	}
}

// because returns the loss with its reason.
func (l loss) because(reason string) *loss {
	l.reason = reason
	return &l
}

// retries is the schedule of the retries of one message.
type retries struct {
	backoff backoff.ExponentialBackOff
	// deadline is the end of the retries. The zero time means that there is none.
	deadline time.Time
	// stopping is closed when the shutdown begins. checkStopping sets it to nil then.
	stopping <-chan struct{}
}

func (b *batching) newRetries() retries {
	r := retries{stopping: b.stopping, backoff: backoff.ExponentialBackOff{
		InitialInterval:     b.cfg.RetryConfig.InitialInterval,
		RandomizationFactor: b.cfg.RetryConfig.RandomizationFactor,
		Multiplier:          b.cfg.RetryConfig.Multiplier,
		MaxInterval:         b.cfg.RetryConfig.MaxInterval,
	}}
	if b.cfg.RetryConfig.MaxElapsedTime > 0 {
		r.deadline = time.Now().Add(b.cfg.RetryConfig.MaxElapsedTime)
	}
	return r
}

// checkStopping resets the backoff and limits the remaining time when the shutdown begins.
func (r *retries) checkStopping() {
	select {
	case <-r.stopping:
		r.stopping = nil
		r.backoff.Reset()
		if deadline := time.Now().Add(shutdownRetries); r.deadline.IsZero() || deadline.Before(r.deadline) {
			r.deadline = deadline
		}
	default:
	}
}

// next returns how long to wait before the next attempt. more is false if the deadline would pass before it.
func (r *retries) next() (pause time.Duration, more bool) {
	pause = r.backoff.NextBackOff()
	return pause, r.deadline.IsZero() || !time.Now().Add(pause).After(r.deadline)
}

// copies reports whether each attempt passes a copy of the message.
func (b *batching) copies() bool {
	return b.cfg.RetryConfig.Enabled && b.next.Capabilities().MutatesData
}

// attempt passes pd to the next consumer. It passes a copy if the consumer may change it and a retry may need it. On an
// error, rest is the message to retry: pd, or the profiles in the error. The caller's reference to pd is then one to rest.
func (b *batching) attempt(ctx context.Context, next xconsumer.Profiles, pd pprofile.Profiles) (rest pprofile.Profiles, err error) {
	given := pd
	if b.copies() {
		given = pprofile.NewProfiles()
		pd.CopyTo(given)
		pref.RefProfiles(given)
		defer pref.UnrefProfiles(given)
	}
	err = next.ConsumeProfiles(ctx, given)
	if partial, ok := joinederrors.Partial(err); ok {
		rest = partial.Data()
		pref.RefProfiles(rest)
		pref.UnrefProfiles(pd)
		return rest, err
	}
	return pd, err
}

// withoutData returns err without the profiles to retry. These belong to several senders, and each sender must retry only
// its own profiles.
func withoutData(err error) error {
	permanent := joinederrors.IsPermanent(err)
	for partial, found := joinederrors.Partial(err); found; partial, found = joinederrors.Partial(err) {
		err = partial.Unwrap()
	}
	if inJoined := (xconsumererror.Profiles{}); errors.As(err, &inJoined) {
		err = errors.New(err.Error())
	}
	err = joinederrors.Resolve(err)
	if permanent && !consumererror.IsPermanent(err) {
		return consumererror.NewPermanent(err)
	}
	return err
}
