// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/metadata"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/upload"
)

// NewFactory returns the factory of the profile symbolizer.
func NewFactory() xprocessor.Factory {
	return xprocessor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xprocessor.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createProfiles(_ context.Context, set processor.Settings, config component.Config, next xconsumer.Profiles) (xprocessor.Profiles, error) {
	return newSymbolizer(set, config.(*Config), next)
}

// symbolizer is the processor. It is synchronous: an error of the next consumer goes to the caller.
type symbolizer struct {
	cfg       *Config
	set       component.TelemetrySettings
	next      xconsumer.Profiles
	telemetry *telemetry

	budget  *memory.Budget
	store   *source.Store
	clients []httpclient.Client
	// uploads are the files that agents upload, server receives them.
	uploads *source.Uploads
	server  *connections.Server
	// temporary is the directory of the cache, if none is configured.
	temporary string
}

var _ xprocessor.Profiles = (*symbolizer)(nil)

func newSymbolizer(set processor.Settings, cfg *Config, next xconsumer.Profiles) (*symbolizer, error) {
	telemetry, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	return &symbolizer{cfg: cfg, set: set.TelemetrySettings, next: next, telemetry: telemetry}, nil
}

// Capabilities reports that ConsumeProfiles changes messages.
func (s *symbolizer) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Start opens the directory of the cache, and starts the workers that fetch binaries.
func (s *symbolizer) Start(ctx context.Context, host component.Host) (err error) {
	if s.budget, err = memory.Of(host); err != nil {
		return err
	}
	directory := s.cfg.Cache.Directory
	if directory == "" {
		if s.temporary, err = os.MkdirTemp("", "profile_symbolizer-*"); err != nil {
			return fmt.Errorf("cannot create a directory for the indices: %w", err)
		}
		directory = s.temporary
	} else if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("cannot create the directory of the cache: %w", err)
	}
	sources, err := s.sources(ctx, host, directory)
	if err != nil {
		return err
	}
	s.store = source.NewStore(ctx, source.Settings{
		Sources: sources, Directory: directory, MaxBytes: s.cfg.Cache.MaxSize, MaxFileBytes: s.cfg.MaxFileSize,
		IndexTimeout: s.cfg.IndexTimeout, FetchTimeout: s.cfg.FetchTimeout, Fetches: s.cfg.ConcurrentFetches,
		MissingFor: s.cfg.MissingFor, FailedFor: s.cfg.FailedFor, Memory: s.memory,
		Fetched: s.telemetry.fetched, Indexed: s.telemetry.indexed, Cached: s.telemetry.cached.Store,
	})
	return s.receiveUploads(ctx, host)
}

// sources returns where binaries are looked for, in this order.
func (s *symbolizer) sources(ctx context.Context, host component.Host, directory string) (sources []source.Source, err error) {
	if len(s.cfg.Directories) > 0 {
		sources = append(sources, source.Directories(s.cfg.Directories))
	}
	if s.cfg.Uploads.HasValue() {
		s.uploads = &source.Uploads{
			Directory: filepath.Join(directory, "uploads"), MaxBytes: s.cfg.Uploads.Get().MaxSize, MaxFileBytes: s.cfg.MaxFileSize,
			Memory: s.memory, Stored: func(id string) { s.store.Renew(id) },
		}
		sources = append(sources, s.uploads)
	}
	for _, server := range s.cfg.Debuginfod {
		client, err := httpclient.New(ctx, server.HTTP, host, s.set)
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, client)
		sources = append(sources, &source.Debuginfod{
			URL: server.HTTP.Endpoint, Client: client.Client, MaxBytes: s.cfg.MaxFileSize, Directory: directory,
		})
	}
	return sources, nil
}

// memory returns a meter for the index of one file, within the budget of all requests.
func (s *symbolizer) memory(ctx context.Context) (work *meter.Meter, release func()) {
	reservation := s.budget.Begin()
	return meter.New(0, func(total int64) error {
		if total > s.cfg.MaxIndexMemory {
			return fmt.Errorf("%w: its index needs more than max_index_memory, %d bytes", source.ErrTooLarge, s.cfg.MaxIndexMemory)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the index takes too long: %w", ctx.Err())
		}
		err := reservation.Grow(ctx, total)
		switch {
		case errors.Is(err, memory.ErrTooLarge):
			return fmt.Errorf("%w: its index: %w", source.ErrTooLarge, err)
		case err != nil:
			return fmt.Errorf("%w: %w", source.ErrBusy, err)
		}
		return nil
	}), reservation.Release
}

// Shutdown ends the workers. Indices that are being made are lost.
func (s *symbolizer) Shutdown(context.Context) error {
	err := s.server.Close()
	if s.uploads != nil {
		s.uploads.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	for i := range s.clients {
		s.clients[i].Close()
	}
	s.telemetry.builder.Shutdown()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	return err
}

// ConsumeProfiles names the locations of a message, as far as the binaries are known, and passes it on.
func (s *symbolizer) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	ctx, reservation, err := s.budget.Message(ctx, pd)
	if err != nil {
		return memory.Refusal("cannot hold a message", err)
	}
	defer reservation.Release()
	s.symbolize(ctx, pd, reservation.Meter(ctx, reservation.Bytes()))
	return s.next.ConsumeProfiles(ctx, pd)
}

// symbolize names the locations of a message. One whose names do not fit into the memory goes on as it is.
func (s *symbolizer) symbolize(ctx context.Context, pd pprofile.Profiles, work *meter.Meter) {
	m := message{dictionary: pd.Dictionary(), memory: work}
	m.read(s.cfg.ReplaceLines)
	if len(m.mappings) == 0 {
		return
	}
	defer m.release()
	m.acquire(ctx, s.store, s.cfg.MaxWait)
	err := m.lookUp()
	counts := m.count()
	if err == nil && counts[resultNamed] > 0 {
		m.write()
	}
	if err != nil {
		counts[resultMemory] = counts[resultNamed] + counts[resultUnknown]
		counts[resultNamed], counts[resultUnknown] = 0, 0
		s.telemetry.logger.Warn("A message has no names for its addresses", zap.Error(err))
	}
	s.telemetry.locations(ctx, counts)
}

// stallTimeout is how long a request may not go on arriving.
const stallTimeout = 30 * time.Second

// receiveUploads starts the server, if one is configured.
func (s *symbolizer) receiveUploads(ctx context.Context, host component.Host) (err error) {
	if !s.cfg.Uploads.HasValue() {
		return nil
	}
	config := s.cfg.Uploads.Get().HTTP
	config.CompressionAlgorithms = []string{} // The memory to inflate is not counted.
	if config.MaxRequestBodySize == 0 {
		config.MaxRequestBodySize = s.cfg.MaxFileSize + s.cfg.MaxFileSize/8 + 1<<20 // Messages of gRPC have headers.
	}
	if config.WriteTimeout > 0 { // It begins when the upload does.
		config.WriteTimeout = max(config.WriteTimeout, config.ReadTimeout+time.Minute)
	}
	handler := upload.Handler(s.uploads, stallTimeout, config.ReadTimeout, s.telemetry.uploaded)
	if s.server, err = connections.ServeGRPC(ctx, host, s.set, &config, handler); err != nil {
		return errors.Join(fmt.Errorf("cannot serve uploads: %w", err), s.Shutdown(ctx))
	}
	return nil
}
