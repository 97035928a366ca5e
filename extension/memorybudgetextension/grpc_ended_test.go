// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestGRPCEndsAfterMessage: the memory of a message is free after its stream has ended without a call of the receiver.
func TestGRPCEndsAfterMessage(t *testing.T) {
	body := marshaled(t, records(10_000, 100))
	for name, messages := range map[string]int{"reset": 1, "two messages": 2} {
		t.Run(name, func(t *testing.T) {
			var sink consumertest.LogsSink
			r := run(t, nil, &sink)
			connection, closes := r.connect(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, exportLogs, grpc.ForceCodecV2(rawCodec{}))
			require.NoError(t, err)
			for range messages {
				require.NoError(t, stream.SendMsg(body))
			}
			if messages == 1 {
				require.Eventually(t, func() bool {
					unmarshaled := false
					r.admissions(func() { unmarshaled = true })
					return unmarshaled
				}, slowdown*10*time.Second, time.Millisecond)
				cancel()
			}
			var answer []byte
			err = stream.RecvMsg(&answer)
			assert.Contains(t, []codes.Code{codes.Canceled, codes.Internal}, status.Code(err), err)
			closes()
			assert.Empty(t, sink.AllLogs())
			r.requireFree(t)
			r.admissions(func() { t.Error("a message is kept") })
		})
	}
}

// admissions calls found for each message that gRPC has unmarshalled and not passed on.
func (r *running) admissions(found func()) {
	r.memoryBudget.grpc.admissions.Range(func(any, any) bool {
		found()
		return true
	})
}
