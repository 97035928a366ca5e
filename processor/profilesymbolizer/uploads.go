// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilesymbolizer // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/upload"
)

// stallTimeout is how long a request may not go on arriving.
const stallTimeout = 30 * time.Second

// uploads are the files that agents upload, and the server that receives them.
type uploads struct {
	files  *source.Uploads
	server *connections.Server
}

// uploadsIn returns the source of the files, which are in a directory.
func (s *symbolizer) uploadsIn(directory string) source.Source {
	s.uploads.files = &source.Uploads{
		Directory: directory, MaxBytes: s.cfg.Uploads.Get().MaxSize, MaxFileBytes: s.cfg.MaxFileSize, Memory: s.memory,
		Stored: func(id string) { s.store.Renew(id) },
	}
	return s.uploads.files
}

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
	handler := upload.Handler(s.uploads.files, stallTimeout, config.ReadTimeout, s.telemetry.uploaded)
	if s.uploads.server, err = connections.ServeGRPC(ctx, host, s.set, &config, handler); err != nil {
		return errors.Join(fmt.Errorf("cannot serve uploads: %w", err), s.Shutdown(ctx))
	}
	return nil
}

// close ends the uploads that are being received.
func (u uploads) close() error {
	err := u.server.Close()
	if u.files != nil {
		u.files.Close()
	}
	return err
}
