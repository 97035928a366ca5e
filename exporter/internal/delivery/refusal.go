// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The reasons of refusals that all exporters share. They are values of the attribute reason.
const (
	ReasonInvalid  = "invalid"
	ReasonTooLarge = "too_large"
)

// maxErrors limits the number of refusals in the text of an error.
const maxErrors = 10

// Refusal is the permanent error of profiles that are dropped.
type Refusal struct {
	// Reason is the value of the attribute reason of metrics.
	Reason string
	Err    error

	// services has the number of dropped profiles by service.
	services map[string]int
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// refusalOf returns the refusal of a profile that cannot be encoded.
func refusalOf(err error) *Refusal {
	reason := ReasonInvalid
	if errors.Is(err, pprof.ErrTooLarge) {
		reason = ReasonTooLarge
	}
	return &Refusal{Reason: reason, Err: err}
}

// serviceOf returns the beginning of the service name of a resource of a request.
func serviceOf(pd pprofile.Profiles, resource int) string {
	return attributevalue.ShortService(pd.ResourceProfiles().At(resource).Resource().Attributes())
}

// permanent returns one permanent error for all refusals. If the request is the cause of each of them, a receiver answers it with 400
// or InvalidArgument.
func permanent(refusals []*Refusal) error {
	for _, r := range refusals {
		if r.Reason != ReasonInvalid && r.Reason != ReasonTooLarge {
			return consumererror.NewPermanent(joinRefusals(refusals))
		}
	}
	return otlpstatus.BadRequest("%w", joinRefusals(refusals))
}

// joinRefusals returns one error for all refusals.
func joinRefusals(refusals []*Refusal) error {
	errs := make([]error, 0, maxErrors+1)
	for i, r := range refusals {
		if i == maxErrors {
			errs = append(errs, fmt.Errorf("and %d more", len(refusals)-maxErrors))
			break
		}
		errs = append(errs, r)
	}
	return errors.Join(errs...)
}
