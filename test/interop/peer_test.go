// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// ours is the version of pdata that the distribution has.
const ours = "v0.165.0"

// versions are those of pdata that can be built: before and of that of the distribution.
var versions = []string{"v0.159.0", "v0.162.0", ours}

// buildPeers builds the peer with each version and returns the programs.
func buildPeers(t *testing.T) map[string]string {
	t.Helper()
	programs := map[string]string{}
	for _, version := range versions {
		program := filepath.Join(t.TempDir(), "peer-"+version)
		file := "go." + version + ".mod"
		if version == ours {
			file = "go.mod"
		}
		build := exec.CommandContext(t.Context(), "go", "build", "-modfile="+file, "-o", program, ".")
		build.Dir = "peer"
		output, err := build.CombinedOutput()
		require.NoError(t, err, "%s", output)
		programs[version] = program
	}
	return programs
}

// send has a peer send a message. The error has what the peer says of a failure.
func send(t *testing.T, program, transport, encoding, address string, message []byte) error {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "send", transport, encoding, address)
	command.Stdin = bytes.NewReader(message)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s %s: %w: %s", filepath.Base(program), transport, encoding, err, output)
	}
	return nil
}

// receiving is a peer that takes messages.
type receiving struct {
	mu       sync.Mutex
	arrivals []arrival
}

// arrival is a message that a peer has received, and how.
type arrival struct {
	transport string
	profiles  pprofile.Profiles
}

// receive runs a peer at two addresses until the test ends.
func receive(t *testing.T, program, grpcAddress, httpAddress string) *receiving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, program, "receive", grpcAddress, httpAddress)
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	r := &receiving{}
	var reading sync.WaitGroup
	reading.Go(func() { r.read(t, stdout) })
	t.Cleanup(func() {
		defer cancel()
		assert.NoError(t, stdin.Close())
		reading.Wait()
		assert.NoError(t, command.Wait())
	})
	return r
}

func (r *receiving) read(t *testing.T, stdout io.Reader) {
	t.Helper()
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		transport, text, _ := strings.Cut(line, " ")
		profiles, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles([]byte(text))
		assert.NoError(t, err)
		r.mu.Lock()
		r.arrivals = append(r.arrivals, arrival{transport, profiles})
		r.mu.Unlock()
	}
}

// of returns the messages of a service, by transport.
func (r *receiving) of(service string) map[string][]pprofile.Profiles {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string][]pprofile.Profiles{}
	for _, a := range r.arrivals {
		for _, resource := range a.profiles.ResourceProfiles().All() {
			if name, _ := resource.Resource().Attributes().Get("service.name"); name.Str() == service {
				found[a.transport] = append(found[a.transport], a.profiles)
			}
		}
	}
	return found
}
