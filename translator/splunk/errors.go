// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"errors"
	"fmt"

	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/pprofwire"
)

// refusal is the error of a record before its place in the request is known.
type refusal struct {
	reason Reason
	err    error
}

func refuse(reason Reason, format string, args ...any) *refusal {
	return &refusal{reason, fmt.Errorf(format, args...)}
}

func tooLarge(what string, got, limit int) *refusal {
	return refuse(ReasonTooLarge, "%w: %s: %d, the limit is %d", pprofwire.ErrTooLarge, what, got, limit)
}

// wireRefusal gives an error of the reader its reason.
func wireRefusal(err error) *refusal {
	if errors.Is(err, pprofwire.ErrTooLarge) {
		return &refusal{ReasonTooLarge, err}
	}
	return &refusal{ReasonPprof, err}
}

// inflateRefusal gives an error of decompression its reason.
func inflateRefusal(err error) *refusal {
	if errors.Is(err, inflate.ErrTooLarge) {
		return &refusal{ReasonTooLarge, err}
	}
	return &refusal{ReasonCompression, err}
}
