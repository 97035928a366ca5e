// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package joinederrors reads the error of a consumer that can be several, for example two exporters of one pipeline. Such an error
// joins theirs, and the functions of consumererror then tell of one of them only.
package joinederrors // import "github.com/otelpprof/otelpprof/internal/joinederrors"

import (
	"errors"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
)

// IsPermanent reports whether none of the consumers would accept the message if it was sent again. [consumererror.IsPermanent] is
// true for joined errors if one of them is permanent.
func IsPermanent(err error) bool {
	if !consumererror.IsPermanent(err) {
		return false
	}
	joined := joinedIn(err)
	permanent := 0
	for _, one := range joined {
		if IsPermanent(one) {
			permanent++
		}
	}
	return permanent == 0 || permanent == len(joined) // 0: what wraps them is permanent
}

// Resolve returns an error for which [consumererror.IsPermanent] is [IsPermanent] of err: other components only know the former.
func Resolve(err error) error {
	if consumererror.IsPermanent(err) == IsPermanent(err) {
		return err
	}
	return errors.New(err.Error())
}

// Partial returns the error with the profiles to retry. It does not look into joined errors: the other consumers may need more than
// the profiles of one.
func Partial(err error) (partial xconsumererror.Profiles, found bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if partial, found = err.(xconsumererror.Profiles); found { //nolint:errorlint // errors.As looks into joined errors
			return partial, true
		}
	}
	return partial, false
}

// joinedIn returns the errors that err joins, or nil if it joins none.
func joinedIn(err error) []error {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
	}
	return nil
}
