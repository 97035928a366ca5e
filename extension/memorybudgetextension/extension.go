// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"

	"github.com/otelpprof/otelpprof/extension/memorybudgetextension/internal/metadata"
	"github.com/otelpprof/otelpprof/internal/memory"
)

// requestBytes is the memory of a request without its message: a goroutine and buffers.
const requestBytes = 32 << 10

// messageMemory is what a message of so many bytes takes, at first beside its other forms: the body as it was received and its copies.
func messageMemory(forms, message int64) int64 {
	return max(forms+message, memory.MessageFactor*message)
}

// memoryBudget is the extension.
type memoryBudget struct {
	config    *Config
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	budget    *memory.Budget
	grpc      *grpcServer
	// stopping ends when the pipelines are about to shut down.
	stopping context.Context
	stop     context.CancelFunc
}

var (
	_ extension.Extension            = (*memoryBudget)(nil)
	_ extensionmiddleware.HTTPServer = (*memoryBudget)(nil)
	_ extensionmiddleware.GRPCServer = (*memoryBudget)(nil)
	_ extensionmiddleware.HTTPClient = (*memoryBudget)(nil)
	_ extensionmiddleware.GRPCClient = (*memoryBudget)(nil)
)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, config component.Config) (extension.Extension, error) {
	builder, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	cfg := config.(*Config)
	m := &memoryBudget{
		config:    cfg,
		logger:    set.Logger,
		telemetry: builder,
		budget:    memory.New(cfg.limit(), cfg.Wait),
	}
	m.stopping, m.stop = context.WithCancel(context.Background())
	m.grpc = &grpcServer{CodecV2: encoding.GetCodecV2(proto.Name), memoryBudget: m, pool: newBufferPool(m.budget)}
	return m, nil
}

// MemoryBudget returns the budget for the components that reserve themselves.
func (m *memoryBudget) MemoryBudget() *memory.Budget { return m.budget }

// Start logs the size of the budget and registers the metrics.
func (m *memoryBudget) Start(context.Context, component.Host) error {
	m.logger.Info("Memory budget of requests", zap.Int64("bytes", m.budget.Size()))
	return errors.Join(
		m.telemetry.RegisterExtensionMemoryBudgetSizeCallback(observing(m.budget.Size)),
		m.telemetry.RegisterExtensionMemoryBudgetReservedCallback(observing(func() int64 { used, _ := m.budget.Used(); return used })),
	)
}

func observing(value func() int64) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(value())
		return nil
	}
}

// Ready and NotReady are those of extensioncapabilities.PipelineWatcher. Ready is called when the pipelines run.
func (m *memoryBudget) Ready() error { return nil }

// NotReady is called before the receivers shut down. They wait for their requests, so those that are still arriving must end.
func (m *memoryBudget) NotReady() error {
	m.stop()
	return nil
}

// Shutdown unregisters the metrics.
func (m *memoryBudget) Shutdown(context.Context) error {
	m.stop()
	m.telemetry.Shutdown()
	return nil
}
