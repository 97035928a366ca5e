// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package joinederrors

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

var errNotNow = errors.New("not now")

func TestIsPermanent(t *testing.T) {
	permanent := consumererror.NewPermanent(errNotNow)
	for want, errs := range map[bool][]error{
		false: {
			nil, errNotNow, errors.Join(errNotNow), errors.Join(permanent, errNotNow), fmt.Errorf("exporters: %w", errors.Join(errNotNow, permanent)),
			errors.Join(permanent, errors.Join(permanent, errNotNow)),
		},
		true: {
			permanent, errors.Join(permanent, permanent), fmt.Errorf("exporters: %w", errors.Join(permanent)),
			consumererror.NewPermanent(errors.Join(errNotNow, errNotNow)), errors.Join(permanent, errors.Join(permanent)),
		},
	} {
		for _, err := range errs {
			assert.Equal(t, want, IsPermanent(err), "%v", err)
			assert.Equal(t, want, consumererror.IsPermanent(Resolve(err)), "%v", err)
		}
	}
}

func TestPartial(t *testing.T) {
	partial := xconsumererror.NewProfiles(errNotNow, pprofile.NewProfiles())
	for _, err := range []error{partial, consumererror.NewPermanent(partial), fmt.Errorf("exporter: %w", partial)} {
		_, found := Partial(err)
		assert.True(t, found, "%v", err)
	}
	for _, err := range []error{nil, errNotNow, errors.Join(partial), errors.Join(errNotNow, partial)} {
		_, found := Partial(err)
		assert.False(t, found, "%v", err)
	}
}
