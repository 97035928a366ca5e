// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package newcomer

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// ownNamespace is set where the test runs in a namespace of its own.
const ownNamespace = "OTELPPROF_OWN_NAMESPACE"

// requireNamespaces is set where processes can have namespaces.
const requireNamespaces = "OTELPPROF_REQUIRE_NAMESPACES"

// patience is how long the test waits on a busy machine.
const patience = 3 * time.Minute

// TestReadme pastes the blocks of the README into a shell as they stand. Their ports are fixed, so the test has a network of its own
// where the machine allows it.
func TestReadme(t *testing.T) {
	gatewaytest.Binary(t)
	if os.Getenv(ownNamespace) != "" {
		raiseLoopback(t)
		runReadme(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReadme$", "-test.v")
	command.Env = append(os.Environ(), ownNamespace+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	output, err := command.CombinedOutput()
	if command.Process == nil && os.Getenv(requireNamespaces) == "" {
		t.Logf("the test uses the ports of the machine, since a process cannot have a network of its own: %v", err)
		runReadme(t)
		return
	}
	require.NoError(t, err, string(output))
}

// runReadme runs the blocks in their order. The one with make run and make test is about the build, which has taken place.
func runReadme(t *testing.T) {
	t.Helper()
	blocks := regexp.MustCompile("```(\\w+)\n([^`]*)```").FindAllStringSubmatch(read(t, filepath.Join(root, "README.md")), -1)
	require.Len(t, blocks, 6, "the test runs every block")
	require.Contains(t, blocks[0][2], "make run ")
	require.Contains(t, blocks[0][2], "make test ")
	directory := clone(t)

	stop := start(t, directory, blocks[1][2])
	output := paste(t, directory, blocks[2][2])
	assert.Contains(t, output, "204 No Content")
	assert.Contains(t, output, "Type: cpu")
	serveOwnProgram(t)
	paste(t, directory, blocks[3][2])
	files, err := filepath.Glob(filepath.Join(directory, "profiles", "mine", "cpu", "*.pb.gz"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "the file of the user's own program")
	for address, want := range map[string]string{
		"http://127.0.0.1:4041/":                "<title>",
		"http://127.0.0.1:4041/profiles":        `"service":"otelcol-pprof"`, // of the gateway itself
		"http://127.0.0.1:8888/metrics":         "otelcol_receiver_pprof_payloads",
		"http://127.0.0.1:4042/":                "Server available",
		"http://127.0.0.1:4043/debug/pipelinez": "profiles",
	} {
		assert.Eventually(t, func() bool { return strings.Contains(get(t, address), want) }, patience, 100*time.Millisecond, address)
	}
	stop()

	require.Equal(t, "yaml", blocks[4][1])
	require.NoError(t, os.WriteFile(filepath.Join(directory, "my.yaml"), []byte(blocks[4][2]), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(directory, "profiles")))
	stop = start(t, directory, blocks[5][2])
	upload, _, _ := strings.Cut(blocks[2][2], "\n")
	assert.Contains(t, paste(t, directory, upload), "204 No Content")
	stop()
	files, err = filepath.Glob(filepath.Join(directory, "profiles", "checkout", "cpu", "*.pb.gz"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "the gateway has written its queue")
}

// clone returns a directory like a clone in which the distribution has been built: for make, it is newer than its sources.
func clone(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	entries := must.Get(os.ReadDir(root))(t)
	for _, entry := range entries {
		switch name := entry.Name(); name {
		case "_build", ".tools", ".git", "profiles":
		default:
			require.NoError(t, os.Symlink(absolute(t, name), filepath.Join(directory, name)))
		}
	}
	binary := must.Get(filepath.Abs(gatewaytest.Binary(t)))(t)
	for _, file := range [][2]string{{".tools/builder", ""}, {"_build/modules", ""}, {"_build/otelcol-pprof", "#!/bin/sh\nexec '" + binary + "' \"$@\"\n"}} {
		path := filepath.Join(directory, file[0])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(file[1]), 0o755))
	}
	return directory
}

// start runs a block that does not end by itself, and waits until it accepts connections. stop is Ctrl-C.
func start(t *testing.T, directory, block string) (stop func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-e", "-c", block)
	command.Dir = directory
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	stop = func() {
		require.NoError(t, syscall.Kill(-command.Process.Pid, syscall.SIGINT))
		select {
		case <-ended:
		case <-time.After(patience):
			require.NoError(t, syscall.Kill(-command.Process.Pid, syscall.SIGKILL))
			require.Fail(t, "the gateway does not stop", <-ended)
		}
		assert.Contains(t, output.String(), "Shutdown complete")
	}
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:4040")
		if err == nil {
			require.NoError(t, connection.Close())
			return stop
		}
		select {
		case err := <-ended:
			require.Fail(t, "the gateway has ended", "%v\n%s", err, output.String())
		default:
			require.Less(t, time.Since(begin), patience, "the gateway does not answer")
		}
	}
}

// paste runs a block in a shell that ends at the first error, and returns what it prints.
func paste(t *testing.T, directory, block string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", block)
	command.Dir = directory
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", block, output)
	return string(output)
}

// serveOwnProgram serves the pages of net/http/pprof, as a program of the user does.
func serveOwnProgram(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	var listening net.ListenConfig
	listener := must.Get(listening.Listen(t.Context(), "tcp", "localhost:6060"))(t)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		assert.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
}

func get(t *testing.T, address string) string {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(t)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// raiseLoopback makes the loopback of a new network namespace work.
func raiseLoopback(t *testing.T) {
	t.Helper()
	socket := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0))(t)
	defer func() { assert.NoError(t, unix.Close(socket)) }()
	loopback := must.Get(unix.NewIfreq("lo"))(t)
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	require.NoError(t, unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback))
}
