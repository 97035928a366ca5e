// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gatewaytest runs the built distribution for tests.
package gatewaytest // import "github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/requirement"
)

// stopsWithin is the time limit for a gateway to stop.
const stopsWithin = time.Minute

// Binary returns the path of the built distribution, which OTELPPROF_BINARY names. Without it the test skips, or fails where CI is
// set.
func Binary(tb testing.TB) string {
	tb.Helper()
	path := os.Getenv("OTELPPROF_BINARY")
	if path == "" {
		requirement.Missing(tb, "OTELPPROF_BINARY does not name the built distribution: run the test with make, as CONTRIBUTING.md says")
	}
	return path
}

// Run runs [Binary] until the test ends, and waits until options.HealthURL answers. It sets options.Binary. The test can stop the
// gateway before. The test fails if the gateway ends by itself. If the test fails, Run logs the output of the gateway.
func Run(t *testing.T, options gateway.Options) *gateway.Gateway {
	t.Helper()
	options.Binary = Binary(t)
	// The context of the test ends before its cleanups run.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	running, err := gateway.Start(ctx, options)
	if err != nil {
		cancel()
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		defer cancel()
		if running.Running() {
			assert.NoError(t, running.Stop(stopsWithin))
		} else {
			assert.NoError(t, running.Crashed())
		}
		if t.Failed() {
			t.Logf("the gateway said:\n%.20000s", running.Log())
		}
	})
	return running
}
