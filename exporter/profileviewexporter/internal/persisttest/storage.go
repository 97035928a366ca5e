// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package persisttest has a storage for tests.
package persisttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Storage is a storage extension whose values outlive its clients. It has no transactions: the operations before a failed one
// stay done.
type Storage struct {
	component.StartFunc
	component.ShutdownFunc

	mu     sync.Mutex
	values map[string][]byte
	open   int
	// Before is called before each operation. Its error makes the operation fail.
	Before func(*storage.Operation) error
}

// New returns an empty storage.
func New() *Storage { return &Storage{values: map[string][]byte{}} }

// GetClient returns a client of the storage.
func (s *Storage) GetClient(_ context.Context, kind component.Kind, id component.ID, name string) (storage.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &client{s: s, prefix: fmt.Sprintf("%s/%s/%s/", kind, id, name)}, nil
}

// Open returns the number of open clients.
func (s *Storage) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Keys returns all keys, sorted.
func (s *Storage) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.values))
}

// Values returns a copy of all values by key.
func (s *Storage) Values() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

// Put replaces a value. nil deletes it. The key is complete, as Keys returns it.
func (s *Storage) Put(key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.values, key)
		return
	}
	s.values[key] = value
}

// Bytes returns the size of all keys, without their prefix, and values.
func (s *Storage) Bytes() (size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range s.values {
		size += int64(len(key) - strings.LastIndex(key, "/") - 1 + len(value))
	}
	return size
}

type client struct {
	s      *Storage
	prefix string
}

func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	operation := storage.GetOperation(key)
	err := c.Batch(ctx, operation)
	return operation.Value, err
}

func (c *client) Set(ctx context.Context, key string, value []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, value))
}

func (c *client) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

func (c *client) Batch(_ context.Context, operations ...*storage.Operation) error {
	for _, o := range operations {
		if c.s.Before != nil {
			if err := c.s.Before(o); err != nil {
				return err
			}
		}
		c.s.mu.Lock()
		switch o.Type {
		case storage.Get:
			o.Value = slices.Clone(c.s.values[c.prefix+o.Key])
		case storage.Set:
			c.s.values[c.prefix+o.Key] = slices.Clone(o.Value)
		case storage.Delete:
			delete(c.s.values, c.prefix+o.Key)
		}
		c.s.mu.Unlock()
	}
	return nil
}

func (c *client) Close(context.Context) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.open--
	return nil
}
