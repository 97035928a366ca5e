// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

// smallDisk mounts a file system of a few MiB and returns a directory in it.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, "size="+size); err != nil {
		const why = "a full disk needs the right to mount: "
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			t.Fatal(why, err)
		}
		t.Skip(why, err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(directory, syscall.MNT_DETACH)) })
	return directory
}

// sendUntilRefused uploads until the gateway says to come again, and returns that answer.
func (l *loaded) sendUntilRefused(t *testing.T) *http.Response {
	t.Helper()
	for range 2000 {
		number := int(l.next.Add(load.Cycle)) - load.Cycle // all of one way, which is the raw one
		profiles := must.Get(l.uploads.Profiles(number))(t)
		response := l.post(t, number)
		if response.StatusCode != http.StatusNoContent {
			// Come again with it later, so that nothing is open.
			return response
		}
		l.account.Sent(otlpsink.Delivered(profiles...)...)
	}
	require.Fail(t, "the gateway never refuses")
	return nil
}

func (l *loaded) post(t *testing.T, number int) *http.Response {
	t.Helper()
	request := must.Get(l.uploads.Request(t.Context(), l.Targets, number))(t)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response := must.Get(client.Do(request))(t)
	response.Body.Close()
	return response
}

func requireComeAgain(t *testing.T, response *http.Response) {
	t.Helper()
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
}

// TestQueueFull: the destination is away for longer than the queue holds. Senders are told to come again, nothing that
// was accepted is lost, and once the destination is back, uploads are taken again.
func TestQueueFull(t *testing.T) {
	l := newLoaded(t, queueIn(t), "yaml:exporters::otlp_grpc::sending_queue::queue_size: 6000000")
	l.away()
	l.start(t)
	requireComeAgain(t, l.sendUntilRefused(t))
	require.NotZero(t, l.account.Balance().Sent)
	l.back()
	l.waitForAll(t)
	l.send(t, 10, func(int) {})
	t.Log(l.waitForAll(t))
}

// TestQueueDiskFull: the disk of the queue is full. Uploads are refused until later, and the gateway goes on. What becomes
// of what was accepted before is not held here, see docs/reliability.md.
func TestQueueDiskFull(t *testing.T) {
	l := newLoaded(t, filepath.Join(smallDisk(t, "16m"), "queue"))
	l.away()
	l.start(t)
	requireComeAgain(t, l.sendUntilRefused(t))
	require.NotZero(t, l.account.Balance().Sent)
	require.True(t, l.running.Running())
}

// TestQueueDiskReadOnly: a gateway does not start on a disk that cannot be written to, and says which.
func TestQueueDiskReadOnly(t *testing.T) {
	disk := smallDisk(t, "4m")
	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	l := newLoaded(t, filepath.Join(disk, "queue"))
	requireNoStart(t, l, "read-only file system")
}

// requireNoStart holds that the gateway ends by itself, and says why.
func requireNoStart(t *testing.T, l *loaded, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := l.run(ctx, t)
	require.ErrorContains(t, err, "it ended by itself")
	require.ErrorContains(t, err, why)
}

// TestQueueCorrupt: a file of the queue is damaged. The gateway does not start with it, rather than to forget silently
// what was in it. Somebody has to move it away; then the queue begins empty.
func TestQueueCorrupt(t *testing.T) {
	l := newLoaded(t, queueIn(t))
	l.away()
	l.start(t)
	l.send(t, 10, func(int) {})
	l.running.Kill()
	files := must.Get(filepath.Glob(filepath.Join(l.queue, "exporter_otlp_grpc*")))(t)
	require.Len(t, files, 1)
	content := must.Get(os.ReadFile(files[0]))(t)
	for i := range content {
		content[i] ^= 0x5a
	}
	require.NoError(t, os.WriteFile(files[0], content, 0o600))
	requireNoStart(t, l, "invalid database")

	require.NoError(t, os.Rename(files[0], filepath.Join(t.TempDir(), "damaged")))
	again := newLoaded(t, l.queue)
	again.start(t)
	again.send(t, 10, func(int) {})
	again.waitForAll(t)
}
