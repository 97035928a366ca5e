// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"errors"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
)

// The next consumer can be several, for example two exporters. Its error then joins theirs.

// joinedIn returns the errors that err joins, or nil if it joins none.
func joinedIn(err error) []error {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
	}
	return nil
}

// partialOf returns the error with the profiles to retry. It does not look into joined errors: the other consumers may need more
// than the profiles of one.
func partialOf(err error) (partial xconsumererror.Profiles, found bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if partial, found = err.(xconsumererror.Profiles); found { //nolint:errorlint // errors.As looks into joined errors
			return partial, true
		}
	}
	return partial, false
}

// isPermanent reports whether no consumer would accept the message if it was sent again. [consumererror.IsPermanent] is true for
// joined errors if one of them is permanent.
func isPermanent(err error) bool {
	if !consumererror.IsPermanent(err) {
		return false
	}
	joined := joinedIn(err)
	permanent := 0
	for _, one := range joined {
		if isPermanent(one) {
			permanent++
		}
	}
	return permanent == 0 || permanent == len(joined) // 0: what wraps them is permanent
}

// withoutData returns err without the profiles to retry. These belong to several senders, and each sender must retry only
// its own profiles.
func withoutData(err error) error {
	permanent := isPermanent(err)
	for partial, found := partialOf(err); found; partial, found = partialOf(err) {
		err = partial.Unwrap()
	}
	if inJoined := (xconsumererror.Profiles{}); errors.As(err, &inJoined) || consumererror.IsPermanent(err) && !permanent {
		err = errors.New(err.Error())
	}
	if permanent && !consumererror.IsPermanent(err) {
		return consumererror.NewPermanent(err)
	}
	return err
}
