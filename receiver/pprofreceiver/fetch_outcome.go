// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

// The outcomes of a fetch, in addition to the reasons of [refusal.Answers].
const (
	outcomeOK           = "ok"
	outcomeBaseline     = "baseline"
	outcomeUnreachable  = "unreachable"
	outcomeBadAnswer    = "bad_answer"
	outcomeProfilerBusy = "profiler_busy"
)

// fetchError is the error of a fetch, with its outcome.
type fetchError struct {
	outcome string
	err     error
}

func failFetch(outcome, format string, args ...any) error {
	return &fetchError{outcome: outcome, err: fmt.Errorf(format, args...)}
}

func (f *fetchError) Error() string { return f.err.Error() }

// outcomeOf returns the outcome that an error stands for.
func outcomeOf(err error) string {
	if err == nil {
		return outcomeOK
	}
	if own, ok := errors.AsType[*fetchError](err); ok {
		return own.outcome
	}
	return refusal.Answers[refusal.Of(err)].Reason
}
