// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/joinederrors"
)

// If one of several consumers returns the profiles that it has not accepted, the others may need more: all are retried.
func TestPartOfOneConsumerIsNotTheRest(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		for _, other := range []error{errNotNow, consumererror.NewPermanent(errNotNow)} {
			next := &sink{}
			next.answer = func(call int, pd pprofile.Profiles) error {
				if call > 1 {
					return nil
				}
				rest := clone(pd)
				rest.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().RemoveIf(func(p pprofile.Profile) bool {
					return p.ProfileID()[0] != 2
				})
				return errors.Join(other, xconsumererror.NewProfiles(errNotNow, rest))
			}
			f := start(t, next, batchOf(nil))
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 2)))
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, map[string]int64{"checkout/1": 1, "checkout/2": 2}, next.totals())
			assert.Empty(t, f.lost())
		}
	})
}

// A sender gets no profiles of others, and learns whether it may retry.
func TestWithoutData(t *testing.T) {
	permanent, data := consumererror.NewPermanent(errNotNow), pprofile.NewProfiles()
	for _, err := range []error{
		errNotNow, permanent, errors.Join(permanent, errNotNow), errors.Join(permanent, permanent),
		xconsumererror.NewProfiles(errNotNow, data), xconsumererror.NewProfiles(permanent, data),
		consumererror.NewPermanent(xconsumererror.NewProfiles(errNotNow, data)),
		errors.Join(errNotNow, xconsumererror.NewProfiles(errNotNow, data)),
		errors.Join(permanent, xconsumererror.NewProfiles(permanent, data)),
		errors.Join(permanent, xconsumererror.NewProfiles(errNotNow, data)),
		xconsumererror.NewProfiles(errors.Join(errNotNow, xconsumererror.NewProfiles(errNotNow, data)), data),
	} {
		without := withoutData(err)
		partial := xconsumererror.Profiles{}
		assert.NotErrorAs(t, without, &partial, "%v", err)
		assert.Equal(t, joinederrors.IsPermanent(err), consumererror.IsPermanent(without), "%v", err)
		assert.ErrorContains(t, without, errNotNow.Error())
	}
}
