// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/internal/connections"
)

// TestGRPCHeaders: a stream with too many fields in its header, or too many bytes, is refused. Each repetition of a field costs a byte
// on the wire.
func TestGRPCHeaders(t *testing.T) {
	r := run(t, map[string]any{"limit_mib": 32}, consumertest.NewNop())
	body := marshaled(t, records(1, 1))
	with := func(fields int, value string) context.Context {
		return metadata.NewOutgoingContext(t.Context(), metadata.MD{"a": slices.Repeat([]string{value}, fields)})
	}
	require.NoError(t, send(with(connections.MaxFields-20, ""), r.dial(t), body, ""))
	require.NoError(t, send(with(1, strings.Repeat("a", connections.MaxHeaderBytes-1<<10)), r.dial(t), body, ""))

	err := send(with(connections.MaxFields, ""), r.dial(t), body, "")
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	assert.ErrorContains(t, err, "the limit is 128")
	require.Error(t, send(with(1, strings.Repeat("a", connections.MaxHeaderBytes)), r.dial(t), body, ""))
	r.requireFree(t)
}
