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

// shutdownRetries is how long retries go on after the processor was told to stop, if its context does not end before.
const shutdownRetries = 5 * time.Second

// deliverer passes messages on, and repeats those that were refused for now.
type deliverer struct {
	retry     configretry.BackOffConfig
	next      xconsumer.Profiles
	logger    *zap.Logger
	telemetry *telemetry
	// stopping is closed when the processor is to stop.
	stopping <-chan struct{}
}

// loss says why a message was given up.
type loss struct {
	reason string
	err    error
	// profiles and samples count what was not delivered.
	profiles, samples int
}

func newLoss(reason string, err error, rest pprofile.Profiles) *loss {
	return &loss{reason, withoutData(err), rest.ProfileCount(), rest.SampleCount()}
}

// deliver passes a message on. It returns nil when the next consumer took it, and what was lost when it is given up.
func (d *deliverer) deliver(ctx context.Context, pd pprofile.Profiles) *loss {
	p := d.newPatience()
	// The next consumer may free a message of which nobody else has a reference, and it may have to be repeated.
	pref.RefProfiles(pd)
	defer func() { pref.UnrefProfiles(pd) }()
	for attempt := 0; ; attempt++ {
		p.heed()
		var err error
		if pd, err = d.attempt(ctx, pd); err == nil {
			return nil
		}
		pause, more := p.next()
		switch {
		case consumererror.IsPermanent(err):
			return newLoss(lostPermanent, err, pd)
		case ctx.Err() != nil || !more && p.stopping == nil:
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
		case <-p.stopping:
			// There is little time left, so that the next attempt is made at once.
		case <-ctx.Done():
			return newLoss(lostShutdown, err, pd)
		}
	}
}

// patience says when to try again, and for how long.
type patience struct {
	pauses backoff.ExponentialBackOff
	// limit is when there are no more attempts. The zero time is never.
	limit time.Time
	// stopping is nil once it is heeded.
	stopping <-chan struct{}
}

func (d *deliverer) newPatience() patience {
	p := patience{stopping: d.stopping, pauses: backoff.ExponentialBackOff{
		InitialInterval:     d.retry.InitialInterval,
		RandomizationFactor: d.retry.RandomizationFactor,
		Multiplier:          d.retry.Multiplier,
		MaxInterval:         d.retry.MaxInterval,
	}}
	if d.retry.MaxElapsedTime > 0 {
		p.limit = time.Now().Add(d.retry.MaxElapsedTime)
	}
	return p
}

// heed takes notice when the processor is to stop: then there is less time, and it begins with short pauses again.
func (p *patience) heed() {
	select {
	case <-p.stopping:
		p.stopping = nil
		p.pauses.Reset()
		if until := time.Now().Add(shutdownRetries); p.limit.IsZero() || until.Before(p.limit) {
			p.limit = until
		}
	default:
	}
}

// next returns how long to wait before the next attempt, and whether there is to be one.
func (p *patience) next() (pause time.Duration, more bool) {
	pause = p.pauses.NextBackOff()
	return pause, p.limit.IsZero() || !time.Now().Add(pause).After(p.limit)
}

// attempt passes pd on, which stays as it is if it must be repeated. It returns what of pd was refused, with the reference
// that the caller had to pd: the next consumer may tell of a part.
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

// withoutData returns an error that does not carry the rest of a message: it has profiles of several senders, and each
// repeats its own.
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
