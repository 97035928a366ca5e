// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// stateKey is the key of the state in the storage.
const stateKey = "files"

// fileMark identifies a version of a file.
type fileMark struct {
	Size    int64 `json:"size"`
	ModTime int64 `json:"mod_time_unix_nano"`
}

func markOf(info fs.FileInfo) fileMark {
	return fileMark{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
}

// readFile is a version of a file that was read.
type readFile struct {
	fileMark
	// Undone says that the file was accepted, but could not be deleted or moved.
	Undone bool `json:"undone,omitempty"`
}

// fileState stores the files that were read, by path.
type fileState struct {
	client  storage.Client
	read    map[string]readFile
	changed bool
}

// openFileState restores the state of an earlier run, if a storage is configured.
func openFileState(ctx context.Context, host component.Host, id component.ID, extension *component.ID) (*fileState, error) {
	s := &fileState{read: map[string]readFile{}}
	if extension == nil {
		return s, nil
	}
	found, ok := host.GetExtensions()[*extension]
	if !ok {
		return nil, fmt.Errorf("cannot find the storage extension %q", extension)
	}
	keeper, ok := found.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("the extension %q is not a storage extension", extension)
	}
	client, err := keeper.GetClient(ctx, component.KindReceiver, id, nameFile)
	if err != nil {
		return nil, fmt.Errorf("cannot open the storage %q: %w", extension, err)
	}
	s.client = client
	text, err := client.Get(ctx, stateKey)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s.read)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot restore which files were read: %w", err), s.close(ctx))
	}
	return s, nil
}

func (s *fileState) remember(path string, mark fileMark) {
	s.read[path], s.changed = readFile{fileMark: mark}, true
}

// setUndone remembers that a file that was read is still to be deleted or moved.
func (s *fileState) setUndone(path string) {
	if known := s.read[path]; !known.Undone {
		known.Undone = true
		s.read[path], s.changed = known, true
	}
}

// forget drops a file.
func (s *fileState) forget(path string) {
	delete(s.read, path)
	s.changed = true
}

// save saves the state, if it has changed.
func (s *fileState) save(ctx context.Context) error {
	if !s.changed || s.client == nil {
		return nil
	}
	text, err := json.Marshal(s.read)
	if err != nil {
		return err
	}
	if err := s.client.Set(ctx, stateKey, text); err != nil {
		return fmt.Errorf("cannot store which files were read: %w", err)
	}
	s.changed = false
	return nil
}

func (s *fileState) close(ctx context.Context) error {
	if s.client == nil {
		return nil
	}
	return s.client.Close(ctx)
}
