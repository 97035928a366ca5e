// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"time"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// connectTimeout is how long a client of gRPC may take to begin: TLS, and the preface of HTTP/2. A shutdown waits for it.
const connectTimeout = 5 * time.Second

// Ready and NotReady are those of extensioncapabilities.PipelineWatcher. Ready is called when the pipelines run.
func (m *memoryBudget) Ready() error { return nil }

// NotReady is called before the receivers shut down. They wait for their requests, so those that are still arriving must end.
func (m *memoryBudget) NotReady() error {
	m.stop()
	return nil
}

// onShutdown calls abort after the grace of a shutdown. After stop, it is not called.
func (m *memoryBudget) onShutdown(abort func()) (stop func() bool) {
	return context.AfterFunc(m.stopping, func() { time.AfterFunc(connections.ShutdownGrace, abort) })
}
