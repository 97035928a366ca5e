// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/internal/pathname"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// fileDestination writes each pprof to a file.
type fileDestination struct {
	options   filestore.Options
	template  *pathname.Template
	encoder   *pprof.Encoder
	telemetry *telemetry
	logger    *zap.Logger
	// arrival means that a profile without a time gets its time of arrival.
	arrival bool

	// Both are set by start.
	store  *filestore.Store
	health *health
}

func newFileDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) (*fileDestination, error) {
	file := cfg.File.Get()
	template, templateErr := pathname.Parse(file.Path)
	fileMode, fileErr := parseMode(file.FileMode, 0)
	directoryMode, directoryErr := parseMode(file.DirectoryMode, 0)
	if err := errors.Join(templateErr, fileErr, directoryErr); err != nil {
		return nil, err
	}
	return &fileDestination{
		options: filestore.Options{
			Directory:     file.Directory,
			FileMode:      fileMode,
			DirectoryMode: directoryMode,
			Level:         file.CompressionLevel,
			Owns:          template.Matches,
			Depth:         template.Depth(),
			MaxAge:        file.MaxAge,
			MaxTotalSize:  file.MaxTotalSize,
			MaxFiles:      file.MaxFiles,
			OnRemove:      telemetry.removed,
			OnError: func(err error) {
				set.Logger.Warn("Cannot maintain the directory of profiles", zap.Error(err))
			},
		},
		template:  template,
		encoder:   pprof.NewEncoder(cfg.Encoding.EncodeOptions()),
		telemetry: telemetry,
		logger:    set.Logger,
		arrival:   file.Time == TimeArrival,
	}, nil
}

func (d *fileDestination) start(_ context.Context, host component.Host) error {
	store, err := filestore.Open(d.options) //nolint:contextcheck // the removal of old files continues after the start
	if err != nil {
		return err
	}
	d.store, d.health = store, newHealth(host, d.logger)
	builder := d.telemetry.builder
	return d.telemetry.Observe(store.Held, builder.RegisterExporterPprofHeldFilesCallback, builder.RegisterExporterPprofHeldBytesCallback)
}

func (d *fileDestination) shutdown(context.Context) error {
	d.telemetry.builder.Shutdown()
	if d.store == nil {
		return nil
	}
	return d.store.Close()
}

func (d *fileDestination) consume(ctx context.Context, pd pprofile.Profiles) error {
	if d.store == nil {
		return errors.New("cannot write profiles before the start")
	}
	paths := d.template.Paths(d.store.FoldsCase())
	return delivery.Deliver(ctx, pd, d.encoder, d.telemetry.Telemetry, func(ctx context.Context, payload *pprof.Payload, work *meter.Meter) error {
		return d.write(ctx, payload, paths, work)
	})
}

// write writes one file. Its error is a refusal if a retry would fail in the same way.
func (d *fileDestination) write(ctx context.Context, payload *pprof.Payload, paths *pathname.Paths, work *meter.Meter) error {
	name := paths.Path(pathname.Values{
		Resource:    payload.Resource.Attributes(),
		ProfileType: series.Kind(payload.ProfileType),
		ProfileID:   delivery.ProfileID(payload),
		Time:        d.timeOf(payload),
	})
	result, err := d.store.Write(name, payload.Pprof, work)
	if err == nil || result.Written() {
		d.telemetry.wrote(ctx, result, payload)
	}
	switch {
	case err == nil:
		d.health.ok()
		return nil
	case errors.Is(err, pprof.ErrTooLarge):
		return &delivery.Refusal{Reason: delivery.ReasonTooLarge, Err: err}
	case work.Err() != nil:
		return err
	}
	class := filestore.ClassOf(err)
	if class == filestore.ClassBlocked {
		return &delivery.Refusal{Reason: class, Err: err}
	}
	d.telemetry.builder.ExporterPprofWriteFailures.Add(ctx, 1, d.telemetry.Because(class))
	d.health.failed(err, class == filestore.ClassDenied)
	return err
}
