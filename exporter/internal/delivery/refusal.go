// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The reasons of refusals that all exporters have, the attribute reason of their metrics.
const (
	ReasonInvalid  = "invalid"
	ReasonTooLarge = "too_large"
)

// maxErrors bounds how many errors of one request are spelled out.
const maxErrors = 10

// Refusal is the error of profiles that are lost: the same would happen again.
type Refusal struct {
	Reason   string
	Profiles int
	Err      error

	// services tells how many of the profiles each service has.
	services map[string]int
}

// Refuse refuses all profiles of a payload.
func Refuse(payload *pprof.Payload, reason string, err error) *Refusal {
	return &Refusal{Reason: reason, Profiles: payload.Profiles, Err: err}
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// refusalOf is the refusal of a profile that the encoder has an error for.
func refusalOf(err error) *Refusal {
	reason := ReasonInvalid
	if errors.Is(err, pprof.ErrTooLarge) {
		reason = ReasonTooLarge
	}
	return &Refusal{Reason: reason, Profiles: 1, Err: err}
}

// serviceOf is the service of a resource of a request.
func serviceOf(pd pprofile.Profiles, resource int) string {
	return attributevalue.Service(pd.ResourceProfiles().At(resource).Resource().Attributes())
}

// joined makes one error of refusals.
func joined(refusals []*Refusal) error {
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
