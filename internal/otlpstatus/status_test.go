// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpstatus

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestBadRequest(t *testing.T) {
	cause := errors.New("no such stack")
	err := fmt.Errorf("processor: %w", BadRequest("profile %d: %w", 3, cause))
	assert.True(t, consumererror.IsPermanent(err))
	require.ErrorIs(t, err, cause)
	found, ok := status.FromError(err)
	require.True(t, ok)
	assert.Equal(t, codes.InvalidArgument, found.Code())
	assert.Contains(t, found.Message(), "profile 3: no such stack")
}
