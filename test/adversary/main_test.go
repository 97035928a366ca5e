// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// extent says how much of the matrix is run.
type extent struct {
	configurations []shipped
	// partly says that a configuration only gets the bodies that are for it alone.
	partly []string
	// sizes are those of the containers, in MiB, and times how often a body is sent at once.
	sizes, times []int
	// together is how many bodies are sent to one process.
	together int
}

const (
	modeVariable   = "OTELPPROF_ADVERSARY"
	binaryVariable = "OTELPPROF_BINARY"
	// recordVariable names a file that a line is added to for each measurement, and the documents are made from.
	recordVariable = "OTELPPROF_ADVERSARY_RECORD"
)

var extents = map[string]extent{
	"ci":   {configurations: chosen("gateway", "splunk", "discovery", "kafka-back"), partly: []string{"discovery", "kafka-back"}, sizes: []int{512}, times: []int{8}, together: 1000},
	"full": {configurations: configurations, sizes: []int{512, 2048}, times: []int{1, 8, 64}, together: 10},
}

func extentOf(t *testing.T) extent {
	t.Helper()
	mode := os.Getenv(modeVariable)
	if mode == "" {
		t.Skip(modeVariable + " is not set: run `make adversary-ci`, which takes minutes, or `make adversary`, which takes hours")
	}
	e, known := extents[mode]
	require.True(t, known, "%s is %q, it must be ci or full", modeVariable, mode)
	return e
}

func distribution(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryVariable)
	require.NotEmpty(t, path, "%s does not name the built distribution", binaryVariable)
	return path
}
