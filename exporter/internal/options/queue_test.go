// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/featuregate"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestNoBatch: the gate of exporterhelper that makes a batch the default changes nothing here, where it would be refused.
func TestNoBatch(t *testing.T) {
	const gate = "pkg.exporterhelper.queueBatchEnabled"
	without := NewDefaultQueue()
	require.NoError(t, featuregate.GlobalRegistry().Set(gate, true))
	defer func() { require.NoError(t, featuregate.GlobalRegistry().Set(gate, false)) }()
	with := NewDefaultQueue()
	assert.Equal(t, without, with)
	require.NoError(t, ValidateQueue(with))

	queue := with.Get()
	queue.Batch.GetOrInsertDefault()
	queue.QueueSize = 1
	err := ValidateQueue(with)
	require.ErrorContains(t, err, "sending_queue::batch is not supported")
	assert.ErrorContains(t, err, "queue_size is in bytes", "one error names all faults")
}

func TestEncodeOptions(t *testing.T) {
	cfg := EncodingConfig{
		MaxPprofBytes:         1_000_000,
		Timestamps:            TimestampsLabel,
		LinkLabels:            LinkLabelsConfig{Trace: "trace id", Span: "span id"},
		ResourceComments:      true,
		PreferOriginalPayload: true,
	}
	assert.Equal(t, pprof.EncodeOptions{
		PprofBytes:            1_000_000,
		TimestampLabels:       true,
		LinkLabels:            pprof.LinkLabels{Trace: "trace id", Span: "span id"},
		ResourceComments:      true,
		PreferOriginalPayload: true,
	}, cfg.EncodeOptions())
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
