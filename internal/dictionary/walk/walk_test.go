// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProfiles(t *testing.T) {
	message := pprofile.NewProfiles()
	for range 2 {
		resource := message.ResourceProfiles().AppendEmpty()
		for range 2 {
			scope := resource.ScopeProfiles().AppendEmpty()
			for range 2 {
				scope.Profiles().AppendEmpty()
			}
		}
		resource.ScopeProfiles().AppendEmpty()
	}
	period := int64(0)
	for profile := range Profiles(message) {
		period++
		profile.SetPeriod(period)
	}
	assert.EqualValues(t, 8, period)
	var seen []int64
	for profile := range Profiles(message) {
		if seen = append(seen, profile.Period()); len(seen) == 5 {
			break
		}
	}
	assert.Equal(t, []int64{1, 2, 3, 4, 5}, seen)
}
