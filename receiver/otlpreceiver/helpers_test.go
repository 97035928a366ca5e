// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpreceiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

func TestMain(m *testing.M) {
	// A server keeps a connection for a while after an answer that ends it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// host has an authenticator that accepts the token "right", and keeps the reported status.
type host struct {
	extensions map[component.ID]component.Component
	events     []componentstatus.Status
}

var authenticatorID = component.MustNewID("guard")

func newHost() *host {
	return &host{extensions: map[component.ID]component.Component{authenticatorID: guard{}}}
}

func (h *host) GetExtensions() map[component.ID]component.Component { return h.extensions }

func (h *host) Report(event *componentstatus.Event) { h.events = append(h.events, event.Status()) }

type guard struct {
	component.StartFunc
	component.ShutdownFunc
}

func (guard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if header := sources["Authorization"]; len(header) == 1 && header[0] == "right" {
		return ctx, nil
	}
	return ctx, errors.New("unknown client")
}

// addresses are those of the two protocols of a receiver.
type addresses struct{ grpc, http string }

func newAddresses(t *testing.T) addresses {
	t.Helper()
	free := must.Get(gateway.FreeAddresses(t.Context(), 2))(t)
	return addresses{free[0], free[1]}
}

// configure returns the configuration of both protocols with additional settings for HTTP.
func configure(t *testing.T, at addresses, settings map[string]any) component.Config {
	t.Helper()
	cfg := NewFactory().CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": at.grpc}, "http": map[string]any{"endpoint": at.http},
	}}).Unmarshal(cfg))
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": settings}}).Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	return cfg
}

// createAll returns the receivers of all signals.
func createAll(t *testing.T, factory xreceiver.Factory, cfg component.Config, sink next) []component.Component {
	t.Helper()
	set := receivertest.NewNopSettings(factory.Type())
	traces := must.Get(factory.CreateTraces(t.Context(), set, cfg, sink))(t)
	metrics := must.Get(factory.CreateMetrics(t.Context(), set, cfg, sink))(t)
	logs := must.Get(factory.CreateLogs(t.Context(), set, cfg, sink))(t)
	profiles := must.Get(factory.CreateProfiles(t.Context(), set, cfg, sink))(t)
	return []component.Component{traces, metrics, logs, profiles}
}

type next = consumertest.Consumer

var (
	_ receiver.Factory = NewFactory()
	_ component.Host   = (*host)(nil)
)

// run starts the receivers of all signals until the test ends.
func run(t *testing.T, factory xreceiver.Factory, settings map[string]any, sink next) addresses {
	t.Helper()
	at := newAddresses(t)
	for _, r := range createAll(t, factory, configure(t, at, settings), sink) {
		require.NoError(t, r.Start(t.Context(), newHost()))
		t.Cleanup(func() { require.NoError(t, r.Shutdown(context.WithoutCancel(t.Context()))) })
	}
	return at
}

// answer is what a client sees.
type answer struct {
	code   int
	header map[string]string
	body   string
}

// ask sends a request, and returns the answer without what differs each time.
func ask(t *testing.T, client *http.Client, method, url string, header map[string]string, body []byte) answer {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body)))(t)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response := must.Get(client.Do(request))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	a := answer{code: response.StatusCode, header: map[string]string{}, body: string(text)}
	for name := range response.Header {
		if name != "Date" {
			a.header[name] = response.Header.Get(name)
		}
	}
	return a
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", address))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
