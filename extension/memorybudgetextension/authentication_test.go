// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stranger is an authenticator that knows nobody.
type stranger struct{ component.Component }

func (stranger) Authenticate(ctx context.Context, _ map[string][]string) (context.Context, error) {
	return ctx, errors.New("unknown client")
}

// TestGRPCAuthenticatesFirst: without credentials, a client learns nothing of its message, and its memory is free again.
func TestGRPCAuthenticatesFirst(t *testing.T) {
	r := runAuthenticated(t, map[string]any{"limit_mib": 32}, consumertest.NewNop(), stranger{})
	empty := make([]byte, 2<<20)
	for i := 0; i < len(empty); i += 2 {
		empty[i] = 0x0a
	}
	for name, body := range map[string][]byte{
		"valid": marshaled(t, records(1, 1)), "malformed": {0x0a}, "deep": nestedValue(33), "expensive": empty,
	} {
		for _, compression := range []string{"", "gzip"} {
			err := send(t.Context(), r.dial(t), body, compression)
			require.Equal(t, codes.Unauthenticated, status.Code(err), "%s: %v", name, err)
			assert.Contains(t, err.Error(), "unknown client", name)
		}
	}
	r.requireFree(t)
	for _, reason := range []string{"malformed", "too_deep", "too_large"} {
		assert.Zero(t, r.refusals(t, reason), reason)
	}
}
