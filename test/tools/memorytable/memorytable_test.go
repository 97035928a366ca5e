// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
)

// TestMeasure measures with few uploads: the shipped configuration takes them, and has a time and a memory.
func TestMeasure(t *testing.T) {
	binary := gatewaytest.Binary(t)
	profile, err := os.ReadFile("../../../testdata/pprof/cpu.pb.gz")
	require.NoError(t, err)
	o := &options{binary: binary, config: "../../../config/gateway.yaml", uploads: 4, senders: 2}
	r := &row{limit: "off", target: "100"}
	require.NoError(t, measure(t.Context(), o, r, profile))
	require.Len(t, r.memory, 1)
	assert.Positive(t, r.memory[0])
	assert.Len(t, r.cpu, 1)
}
