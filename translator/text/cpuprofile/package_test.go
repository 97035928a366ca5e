// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpuprofile_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
