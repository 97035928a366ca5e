// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	// patience is how long a container may take to start.
	patience = 2 * time.Minute
	// grace is how long it may take to stop before Docker kills it.
	grace = 10 * time.Second
)

// container is a running one. Its network is its own, with nothing but a loopback.
type container struct {
	command *exec.Cmd
	log     *buffer
	ended   chan error
	process int
	client  *http.Client
}

// restrictions are the options of podman that take from a container what the image does not need.
func restrictions(name string) []string {
	return []string{
		"run", "--rm", "--name", name, "--pull", "never", "--network", "none", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "all",
		"--security-opt", "no-new-privileges", "--memory", "300m", "--memory-swap", "300m",
		// Both values: without the capability to raise them, the defaults of podman are refused.
		"--ulimit", "nofile=20000:20000", "--ulimit", "nproc=1000:1000",
	}
}

// run starts the image with further options of podman, and arguments of the program.
func (e engine) run(t *testing.T, name string, options []string, arguments ...string) *container {
	t.Helper()
	all := append(restrictions(name), options...)
	c := &container{command: e.podman(append(append(all, image), arguments...)...), log: &buffer{}, ended: make(chan error, 1)}
	c.command.Stdout, c.command.Stderr = c.log, c.log
	require.NoError(t, c.command.Start())
	go func() { c.ended <- c.command.Wait() }()
	t.Cleanup(func() {
		if c.ended != nil {
			_ = e.podman("kill", name).Run()
			<-c.ended
		}
	})
	return c
}

// enter waits until the container has a process, and makes a client that speaks from inside of its network.
func (c *container) enter(t *testing.T, e engine, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := e.podman("inspect", "--format", "{{.State.Pid}}", name).Output()
		if err == nil {
			c.process, _ = strconv.Atoi(string(bytes.TrimSpace(text)))
		}
		return c.process > 0 || len(c.ended) > 0
	}, patience, 100*time.Millisecond)
	require.Positive(t, c.process, c.log)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialInside(ctx, c.process, network, address)
	}, DisableKeepAlives: true}
	c.client = &http.Client{Transport: transport, Timeout: patience}
	require.Eventually(t, func() bool {
		response, err := c.client.Get("http://127.0.0.1:13133/")
		if err != nil {
			return len(c.ended) > 0
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond, c.log)
	require.Empty(t, c.ended, c.log)
}

// dialInside connects in the network namespace of a process. The thread that enters it ends with the goroutine.
func dialInside(ctx context.Context, process int, network, address string) (net.Conn, error) {
	type result struct {
		connection net.Conn
		err        error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		descriptor, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", process), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			done <- result{err: err}
			return
		}
		defer unix.Close(descriptor)
		if err := unix.Setns(descriptor, unix.CLONE_NEWNET); err != nil {
			done <- result{err: err}
			return
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		done <- result{connection, err}
	}()
	r := <-done
	return r.connection, r.err
}

// stop ends the container as an orchestrator does, and returns how long that took.
func (c *container) stop(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	require.NoError(t, syscall.Kill(c.command.Process.Pid, syscall.SIGTERM)) // podman passes it on
	select {
	case err := <-c.ended:
		c.ended = nil
		require.NoError(t, err, c.log)
	case <-time.After(patience):
		require.Fail(t, "it does not stop", c.log)
	}
	return time.Since(begin)
}

// buffer is what the container logged so far.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
