// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package digits_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/test/tools/digits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12345678: "12,345,678", -999: "-999", -123456: "-123,456",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		assert.Equal(t, want, digits.Group(n))
	}
}
