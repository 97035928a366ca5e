// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"

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
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	d, err := newDestination(set, cfg, telemetry)
	if err != nil {
		return nil, err
	}
	e := newProfilesExporter(cfg.QueueConfig.Get(), d, telemetry)
	e.Profiles, err = xexporterhelper.NewProfiles(ctx, set, cfg, e.consumer(),
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
	if file := cfg.File.Get(); file != nil && file.Time == TimeArrival {
		return &arrivals{profilesExporter: e, now: time.Now}, nil
	}
	return e, nil
}
