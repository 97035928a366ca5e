// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// answer writes an answer of so many bytes to the connection that it returns, and releases its memory.
func answer(t *testing.T, b *Budget, bytes int64) (client net.Conn, result <-chan error) {
	t.Helper()
	server, client := net.Pipe()
	done := make(chan error, 1)
	r := must.Get(reserve(t.Context(), b, bytes))(t)
	go func() {
		defer r.Release()
		_, err := r.WriteAnswer(server, make([]byte, bytes), func() { _ = server.SetWriteDeadline(time.Unix(1, 0)) })
		_ = server.Close()
		done <- err
	}()
	return client, done
}

// TestAnswerReadSlowly: a client that does not read has its answer as long as nobody waits for memory, and is ended as soon as somebody does.
func TestAnswerReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1<<20, 2*time.Second)
		_, result := answer(t, b, 700<<10)
		time.Sleep(time.Minute)
		assert.Empty(t, result, "ended without need")
		begin := time.Now()
		r := must.Get(reserve(t.Context(), b, 600<<10))(t)
		assert.LessOrEqual(t, time.Since(begin), 2*pressureInterval)
		require.Error(t, <-result)
		r.Release()
		assert.Zero(t, b.Arriving())
	})
}

// TestAnswerIsRead: a client that reads its answer gets all of it, and whoever waits gets the memory afterwards.
func TestAnswerIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1<<20, 5*time.Second)
		client, result := answer(t, b, 700<<10)
		waited := make(chan error, 1)
		go func() {
			r, err := reserve(t.Context(), b, 600<<10)
			r.Release()
			waited <- err
		}()
		read, part := 0, make([]byte, progressBytes)
		for {
			time.Sleep(200 * time.Millisecond)
			n, err := io.ReadFull(client, part)
			if read += n; err != nil {
				break
			}
		}
		assert.Equal(t, 700<<10, read)
		require.NoError(t, <-result)
		require.NoError(t, <-waited)
	})
}
