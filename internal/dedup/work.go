// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// work is the working memory of one call. The next call reuses it.
type work struct {
	opts     *Options
	dropKeys map[string]bool
	pd       pprofile.Profiles
	stats    Stats
	tables   dictionary.Compactor
	samples  sampleWork
	// reducible is true if a resource or scope is empty, or has an attribute twice. checkedScopes sets it to true, markUsed to false.
	reducible bool
	// times has the new times of captures.
	times map[timesKey]timeRange
}

// bytes returns the size of the working memory.
func (w *work) bytes() int64 {
	s := &w.samples
	return w.tables.Kept() + s.identities.Kept() + s.shapeless.Kept() + s.pairs.Kept() +
		int64(scratch.Bytes(s.key)+scratch.Bytes(s.stacks.uses)+scratch.Bytes(s.keepers))
}

// run examines the whole message, and then writes the changes.
func (w *work) run() error {
	given := w.pd
	w.repairText()
	w.dropPartialLinks()
	w.dropEmptyProfiles()
	w.tables.Reset(w.pd.Dictionary(), w.dropKeys)
	if w.repairCode() {
		w.tables.Reset(w.pd.Dictionary(), w.dropKeys)
	}
	if !w.markUsed() {
		proceed, err := w.handleInvalid()
		if err != nil || !proceed {
			w.pd = given
			w.stats = Stats{Invalid: w.stats.Invalid}
			return err
		}
	}
	timesChange := w.planTimes()
	if w.tables.Changed() || w.samples.reshaped || w.samples.equal || w.containersChange() || timesChange {
		w.apply()
	}
	return nil
}

// markUsed marks the entries that profiles use, and numbers the tables. It reports false if a profile is invalid.
func (w *work) markUsed() bool {
	valid := true
	w.samples.reshaped, w.samples.equal, w.samples.shapes, w.reducible = false, false, 0, false
	for at, scope := range w.checkedScopes() {
		for _, profile := range scope.Profiles().All() {
			if w.use(profile) != nil || at.err != nil {
				valid = false
			}
		}
	}
	return w.tables.Number() == nil && valid
}

// apply writes the changes. It begins with the samples, while the tables still have the old entries.
func (w *work) apply() {
	w.pd = OwnCopy(w.pd)
	w.stats.Changed = true
	number := 0
	for _, scope := range walk.Scopes(w.pd) {
		for _, profile := range scope.Profiles().All() {
			w.combine(profile)
			w.widenTime(number, profile)
			if w.tables.Renumbered() {
				w.tables.RewriteHeader(profile)
			}
		}
		number++
	}
	if w.tables.Changed() {
		w.tables.Apply(w.pd.Dictionary())
	}
	joinContainers(w.pd)
}

// makeOwn prepares for changes before the message is known to be valid. It copies a message that may have to be returned
// unchanged.
func (w *work) makeOwn() {
	if w.opts.OnInvalid != DropProfile && !w.stats.Changed {
		own := pprofile.NewProfiles()
		w.pd.CopyTo(own)
		w.pd = own
	}
	w.pd = OwnCopy(w.pd)
	w.stats.Changed = true
}

// keepMissing prepares for new entries before the message is known to be valid: an index out of range must not become the
// index of a new entry.
func (w *work) keepMissing() { shift(w.pd, dictionary.Lengths{}) }

// handleInvalid handles invalid profiles as the options say. It reports false if the message stays unchanged.
func (w *work) handleInvalid() (proceed bool, err error) {
	invalid, first := w.findInvalid()
	switch w.opts.OnInvalid {
	case Reject:
		return false, first
	case Pass:
		return false, nil
	case DropProfile:
	}
	w.pd = OwnCopy(w.pd)
	w.stats.Changed = true
	walk.RemoveProfiles(w.pd, func(pprofile.Profile) bool {
		is := invalid[0]
		invalid = invalid[1:]
		return is
	})
	w.tables.Reset(w.pd.Dictionary(), w.dropKeys)
	w.markUsed()
	return true, nil
}

// findInvalid reports for each profile, in the order of the message, whether it is invalid. It returns the error of the
// first invalid one, and counts them.
func (w *work) findInvalid() (invalid []bool, first error) {
	invalid = make([]bool, 0, w.pd.ProfileCount())
	service, of := "", -1
	for at, scope := range w.checkedScopes() {
		for k, profile := range scope.Profiles().All() {
			err := cmp.Or(at.err, w.check(profile))
			invalid = append(invalid, err != nil)
			if err == nil {
				continue
			}
			reason := reasonOf(err)
			w.stats.Invalid[reason]++
			if w.opts.OnInvalid == DropProfile {
				if of != at.resource {
					of = at.resource
					service = attributevalue.ShortService(w.pd.ResourceProfiles().At(of).Resource().Attributes())
				}
				w.stats.drop(reason, service, err)
			}
			if first == nil {
				first = fmt.Errorf("profile %d of scope %d of resource %d is invalid: %w", k, at.scope, at.resource, err)
			}
		}
	}
	return invalid, first
}
