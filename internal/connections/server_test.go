// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// statusHost collects the events of a component.
type statusHost struct {
	component.Host
	events []*componentstatus.Event
}

func (h *statusHost) Report(event *componentstatus.Event) { h.events = append(h.events, event) }

// TestFailureIsReported: a server that ends by itself has failed, one that is shut down has not.
func TestFailureIsReported(t *testing.T) {
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	require.NoError(t, listener.Close())
	s, host := &Server{http: &http.Server{ReadHeaderTimeout: time.Second}}, &statusHost{}
	s.serve(listener, host)
	require.Len(t, host.events, 1)
	assert.Equal(t, componentstatus.StatusFatalError, host.events[0].Status())
	require.Error(t, host.events[0].Err())

	require.NoError(t, s.Shutdown(t.Context()))
	s.serve(listener, host)
	assert.Len(t, host.events, 1)
}
