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

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
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
				counted, err := otlpwire.Count(otlpwire.Logs, body)
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					used, _ := r.budget.Used()
					return used >= memory.MessageFactor*counted
				}, memorytest.Slowdown*10*time.Second, time.Millisecond, "it is unmarshaled")
				cancel()
			}
			var answer []byte
			err = stream.RecvMsg(&answer)
			assert.Contains(t, []codes.Code{codes.Canceled, codes.Internal}, status.Code(err), err)
			closes()
			assert.Empty(t, sink.AllLogs())
			r.requireFree(t)
			r.memoryBudget.grpc.admissions.Range(func(any, any) bool {
				t.Error("a message is kept")
				return false
			})
		})
	}
}
