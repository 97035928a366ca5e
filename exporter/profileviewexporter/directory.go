// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/internal/pathname"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The paths, permissions and compression of the files.
const (
	filePath      = "{service.name}/{profile.type}/{time}-{profile.id}.pb.gz"
	fileMode      = 0o600
	directoryMode = 0o700
	fileLevel     = 1
)

// directory has a copy of the profiles in memory as files. A nil directory has none.
type directory struct {
	store     *filestore.Store
	template  *pathname.Template
	telemetry *telemetry
	logger    *zap.Logger
}

func openDirectory(cfg *Config, t *telemetry, logger *zap.Logger) (*directory, error) {
	if cfg.Directory == "" {
		return nil, nil //nolint:nilnil // A nil directory is valid.
	}
	template, err := pathname.Parse(filePath)
	if err != nil {
		return nil, err
	}
	d := &directory{template: template, telemetry: t, logger: logger}
	d.store, err = filestore.Open(filestore.Options{
		Directory: cfg.Directory, FileMode: fileMode, DirectoryMode: directoryMode, Level: fileLevel,
		Owns: template.Matches, Depth: template.Depth(), MaxAge: cfg.MaxAge, MaxTotalSize: cmp.Or(cfg.MaxDisk, cfg.MaxMemory),
		OnRemove: func(reason filestore.Reason, _ int64) { t.dropped(reason) },
		OnError:  func(err error) { logger.Warn("Cannot maintain the directory of recent profiles", zap.Error(err)) },
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory of profiles: %w", err)
	}
	return d, nil
}

func (d *directory) close() error {
	if d == nil {
		return nil
	}
	return d.store.Close()
}

// paths returns what builds the paths of one message, or nil without a directory.
func (d *directory) paths() *pathname.Paths {
	if d == nil {
		return nil
	}
	return d.template.Paths(d.store.FoldsCase())
}

// description is what a file says of its profile, as the last comment of the pprof.
type description struct {
	Tenant     string         `json:"tenant,omitempty"`
	Type       string         `json:"type"`
	ID         string         `json:"id,omitempty"`
	Time       int64          `json:"time,omitempty"`
	Duration   time.Duration  `json:"duration,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// write writes a profile. If it cannot be written, it is missing after a restart, and is counted.
func (d *directory) write(ctx context.Context, payload *pprof.Payload, m *message, work *meter.Meter) {
	if d == nil {
		return
	}
	if err := d.tryWrite(payload, m, work); err != nil {
		d.telemetry.storageFailed(ctx, operationWrite)
		d.logger.Warn("Cannot write a profile to the directory: it will be missing after a restart", zap.Error(err))
	}
}

func (d *directory) tryWrite(payload *pprof.Payload, m *message, work *meter.Meter) error {
	described, err := m.describe(payload, work)
	if err != nil {
		return err
	}
	name := m.paths.Path(pathname.Values{
		Resource: payload.Resource.Attributes(), ProfileType: series.Kind(payload.ProfileType), ProfileID: delivery.ProfileID(payload), Time: payload.Time,
	})
	_, err = d.store.Write(name, described, work)
	return err
}

// maxDescribed limits the attributes in the files of one message, in bytes. Each file repeats those of its resource.
const maxDescribed = 32 << 20

// describe returns a copy of a pprof with its description. work counts its memory.
func (m *message) describe(payload *pprof.Payload, work *meter.Meter) ([]byte, error) {
	attributes, err := m.resource.describe(work)
	if err != nil {
		return nil, err
	}
	if m.described += len(attributes); m.described > maxDescribed {
		return nil, fmt.Errorf("the profiles of one message repeat more than %d bytes of attributes", maxDescribed)
	}
	if err := work.Use(jsonAttributeBytes + jsonFactor*(jsonLength(m.tenant)+jsonLength(payload.ProfileType))); err != nil {
		return nil, err
	}
	about := description{Tenant: m.tenant, Type: payload.ProfileType, Time: int64(payload.Time), Duration: time.Duration(payload.DurationNano)}
	if !payload.ProfileID.IsEmpty() {
		about.ID = payload.ProfileID.String()
	}
	start, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	size := len(store.CommentPrefix) + len(start) + len(attributes) + descriptionBytes
	if err := work.Use(int64(len(payload.Pprof) + 2*size)); err != nil {
		return nil, err
	}
	text := store.CommentPrefix + string(start[:len(start)-1]) + `,"attributes":` + string(attributes) + "}"
	described := append(make([]byte, 0, len(payload.Pprof)+size), payload.Pprof...)
	described = pprofwire.AppendString(described, text)
	return pprofwire.AppendHeader(described, pprofwire.Header{Comments: []uint32{countStrings(payload.Pprof)}}), nil
}

// descriptionBytes is enough for the rest of a description: a name, punctuation, and fields of the pprof.
const descriptionBytes = 64

// countStrings returns the number of strings of a pprof, which must be valid.
func countStrings(pprof []byte) (n uint32) {
	const fieldString = 6
	for len(pprof) > 0 {
		field, _, length := protowire.ConsumeField(pprof)
		if field == fieldString {
			n++
		}
		pprof = pprof[length:]
	}
	return n
}

// The operations that can fail.
const (
	operationRead  = "read"
	operationWrite = "write"
)

// describedUpload returns the upload of a description. work counts its memory.
func describedUpload(text string, work *meter.Meter) (u store.Upload, err error) {
	if err := work.Use(jsonAttributeBytes*int64(strings.Count(text, `":"`)) + 2*int64(len(text))); err != nil {
		return u, err
	}
	var about description
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		return u, fmt.Errorf("cannot read the description: %w", err)
	}
	attributes := pcommon.NewMap()
	if err := attributes.FromRaw(about.Attributes); err != nil { // PutStr would compare all keys with each other.
		return u, fmt.Errorf("cannot read the attributes: %w", err)
	}
	if err := work.Use(store.ResourceMemory(attributes)); err != nil {
		return u, err
	}
	u = store.Upload{Resource: store.NewResource(about.Tenant, attributes), Type: about.Type, Duration: about.Duration}
	if about.Time > 0 {
		u.Time = time.Unix(0, about.Time)
	}
	_, err = hex.Decode(u.ID[:], []byte(about.ID[:min(len(about.ID), 2*len(u.ID))]))
	return u, err
}
