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
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/upload"
)

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
