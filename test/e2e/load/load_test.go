// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCheck: a wrong answer, or a wrong reason, is an error.
func TestCheck(t *testing.T) {
	const broken = 9
	require.NoError(t, Check(&Outcome{Number: 0}))
	require.NoError(t, Check(&Outcome{Number: broken, Refused: "400 Bad Request: the gzip is broken"}))
	for name, o := range map[string]Outcome{
		"refused what is good":    {Number: 0, Refused: "400 Bad Request"},
		"accepted what is broken": {Number: broken},
		"another status":          {Number: broken, Refused: "500 Internal Server Error: the gzip is broken"},
		"another reason":          {Number: broken, Refused: "400 Bad Request: wrong query"},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, Check(&o)) })
	}
}
