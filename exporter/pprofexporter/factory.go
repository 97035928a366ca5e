// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// NewFactory returns the factory of the pprof exporter.
func NewFactory() xexporter.Factory {
	return xexporter.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xexporter.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createDefaultConfig() component.Config {
	return &Config{
		TimeoutConfig: exporterhelper.NewDefaultTimeoutConfig(),
		QueueConfig:   configoptional.Some(newDefaultQueueConfig()),
		RetryConfig:   configretry.NewDefaultBackOffConfig(),
		File:          configoptional.Default(newDefaultFileConfig()),
		HTTP:          configoptional.Default(newDefaultHTTPConfig()),
		Server:        configoptional.Default(newDefaultServerConfig()),
		MaxPprofBytes: pprof.DefaultPprofBytes,
		Timestamps:    TimestampsTotal,
		LinkLabels:    LinkLabelsConfig{Trace: "trace_id", Span: "span_id"},
	}
}

// newDefaultQueueConfig bounds the queue by bytes: how large a request is, its senders choose.
func newDefaultQueueConfig() exporterhelper.QueueBatchConfig {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeBytes
	queue.QueueSize = 64 << 20
	queue.NumConsumers = 4
	return queue
}

func createProfiles(ctx context.Context, set exporter.Settings, config component.Config) (xexporter.Profiles, error) {
	cfg := config.(*Config)
	d, err := newDestination(set, cfg)
	if err != nil {
		return nil, err
	}
	profiles, err := xexporterhelper.NewProfiles(ctx, set, cfg, d.consume,
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(cfg.TimeoutConfig),
		exporterhelper.WithRetry(cfg.RetryConfig),
		exporterhelper.WithQueue(cfg.QueueConfig),
		exporterhelper.WithStart(d.start),
		exporterhelper.WithShutdown(d.shutdown),
	)
	if err != nil {
		return nil, err
	}
	e := &profilesExporter{Profiles: profiles}
	if cfg.QueueConfig.HasValue() && cfg.QueueConfig.Get().Sizer == exporterhelper.RequestSizerTypeBytes {
		e.queueBytes = cfg.QueueConfig.Get().QueueSize
	}
	return e, nil
}

// profilesExporter mends what the helper does.
type profilesExporter struct {
	xexporter.Profiles
	// queueBytes is the size of a queue that is bounded by bytes.
	queueBytes int64
	once       sync.Once
	err        error
}

// ConsumeProfiles refuses for good what is larger than the queue. The helper would have it repeated for ever.
func (e *profilesExporter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	err := e.Profiles.ConsumeProfiles(ctx, pd)
	if err == nil || e.queueBytes == 0 || consumererror.IsPermanent(err) {
		return err
	}
	sizer := pprofile.ProtoMarshaler{}
	if size := int64(sizer.ProfilesSize(pd)); size > e.queueBytes {
		err = consumererror.NewPermanent(fmt.Errorf("request has %d bytes, sending_queue::queue_size is %d: %w", size, e.queueBytes, err))
	}
	return err
}

// Shutdown may be called again; the helper's would panic.
func (e *profilesExporter) Shutdown(ctx context.Context) error {
	e.once.Do(func() { e.err = e.Profiles.Shutdown(ctx) })
	return e.err
}
