// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestHealthReportsChanges(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	host := newRecorder()
	h := newHealth(host, zap.New(core))
	full, denied := errors.New("no space left"), errors.New("read-only")

	h.ok()
	assert.Empty(t, host.statuses(), "the collector reports the first OK")
	h.failed(full, false)
	h.failed(full, false)
	h.ok()
	h.ok()
	h.failed(full, false)
	assert.Equal(t, []componentstatus.Status{
		componentstatus.StatusRecoverableError, componentstatus.StatusOK, componentstatus.StatusRecoverableError,
	}, host.statuses())
	assert.ErrorIs(t, host.events[0].Err(), full)

	// The Collector leaves PermanentError only at a restart. Until then it logs a warning for each report.
	h.failed(denied, true)
	h.ok()
	h.failed(full, false)
	h.failed(denied, true)
	assert.Len(t, host.statuses(), 4)
	assert.Equal(t, componentstatus.StatusPermanentError, host.statuses()[3])
	assert.ErrorIs(t, host.events[3].Err(), denied)
	assert.Equal(t, 7, logs.Len(), "each change is one line")
}
