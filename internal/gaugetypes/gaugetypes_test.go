// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gaugetypes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/gaugetypes"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDefault(t *testing.T) {
	for _, each := range profiletest.SampleTypes() {
		assert.Equal(t, each.Gauge, gaugetypes.IsDefault(each.Name, each.Unit), each.Name)
	}
}

func TestMatch(t *testing.T) {
	patterns := []string{"queue*/item*", "size/bytes", "*/ratio", "workers"}
	for _, tt := range []struct {
		typ, unit string
		want      bool
	}{
		{"queue_length", "items", true},
		{"queue_length", "bytes", false},
		{"size", "bytes", true},
		{"size", "count", false},
		{"anything", "ratio", true},
		{"workers", "count", true},
		{"workers_started", "count", false},
		{"inuse_space", "bytes", false},
	} {
		assert.Equal(t, tt.want, gaugetypes.Match(patterns, tt.typ, tt.unit), "%s/%s", tt.typ, tt.unit)
	}
}
