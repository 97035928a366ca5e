// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// refusal is the error of a record, without the position of the record.
type refusal struct {
	reason Reason
	err    error
}

func refuse(reason Reason, format string, args ...any) *refusal {
	return &refusal{reason, fmt.Errorf(format, args...)}
}

func tooLarge(what string, got, limit int) *refusal {
	return &refusal{ReasonTooLarge, pprofwire.TooLarge(what, got, limit)}
}

// checkDepth refuses attributes that are nested too deep.
func checkDepth(owner string, attributes pcommon.Map) *refusal {
	if err := attributevalue.Check(attributes); err != nil {
		return refuse(ReasonTooDeep, "%s: %w", owner, err)
	}
	return nil
}

// wireRefusal adds the reason to an error of the pprof reader.
func wireRefusal(err error) *refusal {
	if errors.Is(err, pprofwire.ErrTooLarge) {
		return &refusal{ReasonTooLarge, err}
	}
	return &refusal{ReasonPprof, err}
}

// inflateRefusal adds the reason to an error of decompression.
func inflateRefusal(err error) *refusal {
	if errors.Is(err, inflate.ErrTooLarge) {
		return &refusal{ReasonTooLarge, err}
	}
	return &refusal{ReasonCompression, err}
}
