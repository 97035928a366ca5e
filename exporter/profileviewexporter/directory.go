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
	"unicode/utf8"

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

// openDirectory opens the directory with a copy of the profiles, if one is configured, and returns the files of earlier runs, the newest first.
func (v *viewExporter) openDirectory(ctx context.Context) (files []filestore.File, err error) {
	if v.cfg.Directory == "" {
		return nil, nil
	}
	if v.template, err = pathname.Parse(filePath); err != nil {
		return nil, err
	}
	builder := v.telemetry.builder
	v.files, err = filestore.Open(filestore.Options{ //nolint:contextcheck // files are removed in the background
		Directory: v.cfg.Directory, FileMode: fileMode, DirectoryMode: directoryMode, Level: fileLevel, Unsynced: true,
		Owns: v.template.Matches, Depth: v.template.Depth(), MaxAge: v.cfg.MaxAge, MaxTotalSize: cmp.Or(v.cfg.MaxDisk, v.cfg.MaxMemory),
		OnRemove: func(reason filestore.Reason, _ int64) { //nolint:contextcheck // it works in the background
			builder.ExporterProfileViewStorageDropped.Add(context.Background(), 1, v.telemetry.Because(string(reason)))
		},
		OnError: func(err error) {
			v.settings.Logger.Warn("Cannot maintain the directory of recent profiles", zap.Error(err))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory of profiles: %w", err)
	}
	err = v.telemetry.Observe(v.files.Held, builder.RegisterExporterProfileViewStoredProfilesCallback, builder.RegisterExporterProfileViewStoredBytesCallback)
	if err != nil {
		return nil, err
	}
	if files, err = v.files.Newest(ctx); err != nil {
		return nil, fmt.Errorf("cannot read the directory of profiles: %w", err)
	}
	return files, nil
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

// write writes a profile to the directory, if there is one. If it cannot be written, it is missing after a restart, and is counted.
func (m *message) write(ctx context.Context, payload *pprof.Payload, work *meter.Meter) {
	if m.files == nil {
		return
	}
	described, err := m.describe(payload, work)
	if err == nil {
		_, err = m.files.Write(m.paths.Path(pathname.Values{
			Resource: payload.Resource.Attributes(), ProfileType: series.Kind(payload.ProfileType), ProfileID: delivery.ProfileID(payload), Time: payload.Time,
		}), described, work)
	}
	if err != nil {
		m.telemetry.storageFailed(ctx, operationWrite)
		m.settings.Logger.Warn("Cannot write a profile to the directory: it will be missing after a restart", zap.Error(err))
	}
}

// maxDescribed limits the attributes in the files of one message, in bytes. Each file repeats those of its resource.
const maxDescribed = 32 << 20

var errDescribed = fmt.Errorf("the profiles of one message repeat more than %d bytes of attributes", maxDescribed)

// The memory to write JSON: of each attribute without its texts, and of the texts as a multiple of their length in JSON, since the buffer
// grows and is copied in the end.
const (
	jsonAttributeBytes = 512
	jsonFactor         = 7
)

// describe returns a copy of a pprof with its description. work counts its memory.
func (m *message) describe(payload *pprof.Payload, work *meter.Meter) ([]byte, error) {
	if m.described > maxDescribed {
		return nil, errDescribed
	}
	memory := jsonAttributeBytes + jsonFactor*(jsonLength(m.tenant)+jsonLength(payload.ProfileType))
	for _, a := range m.resource.Attributes {
		memory += jsonAttributeBytes + jsonFactor*(jsonLength(a.Name)+jsonLength(a.Value))
	}
	if err := work.Use(memory); err != nil {
		return nil, err
	}
	about := description{
		Tenant: m.tenant, Type: payload.ProfileType, Time: int64(payload.Time), Duration: time.Duration(payload.DurationNano),
		Attributes: make(map[string]any, len(m.resource.Attributes)),
	}
	for _, a := range m.resource.Attributes {
		about.Attributes[a.Name] = a.Value
	}
	if !payload.ProfileID.IsEmpty() {
		about.ID = payload.ProfileID.String()
	}
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	if m.described += len(text); m.described > maxDescribed {
		return nil, errDescribed
	}
	size := len(store.CommentPrefix) + len(text) + fieldBytes
	if err := work.Use(int64(len(payload.Pprof) + 2*size)); err != nil {
		return nil, err
	}
	_, strings := lastString(payload.Pprof)
	described := append(make([]byte, 0, len(payload.Pprof)+size), payload.Pprof...)
	described = pprofwire.AppendString(described, store.CommentPrefix+string(text))
	return pprofwire.AppendHeader(described, pprofwire.Header{Comments: []uint32{strings}}), nil
}

// fieldBytes is enough for the fields of the pprof that have the description.
const fieldBytes = 64

// jsonLength returns the length of a text in JSON, or slightly more.
func jsonLength(text string) (length int64) {
	const escaped = int64(len(`\u0000`))
	for _, r := range text {
		switch {
		case r < ' ', r == '"', r == '\\', r == '<', r == '>', r == '&', r == utf8.RuneError, r == '\u2028', r == '\u2029':
			length += escaped
		default:
			length += int64(utf8.RuneLen(r))
		}
	}
	return length
}

// lastString returns the last string of a pprof, and how many it has. It reads up to a field that is malformed.
func lastString(pprof []byte) (last []byte, strings uint32) {
	const fieldString = 6
	for len(pprof) > 0 {
		field, _, length := protowire.ConsumeField(pprof)
		if length < 0 {
			break
		}
		if field == fieldString {
			last, _ = protowire.ConsumeBytes(pprof[1:])
			strings++
		}
		pprof = pprof[length:]
	}
	return last, strings
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
