// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// patience is how long anything may take that a peer or the gateway does by itself.
const patience = time.Minute

// config takes OTLP, by itself and in the receiver for Splunk's agents, and hands it on to each peer by gRPC and HTTP. What
// is broken is dropped, so that a message without its names does not arrive.
const config = `yaml:
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %[1]q, middlewares: [{id: memory_budget}]}
      http: {endpoint: %[2]q, middlewares: [{id: memory_budget}]}
  splunk_log_profile:
    protocols:
      grpc: {endpoint: %[3]q, middlewares: [{id: memory_budget}]}
      http: {endpoint: %[4]q, middlewares: [{id: memory_budget}]}
processors:
  profile_deduplicator: {on_invalid: drop_profile}
extensions:
  health_check: {endpoint: %[5]q}
  memory_budget:
exporters:
%[6]s
service:
  extensions: [health_check, memory_budget]
  pipelines:
    profiles:
      receivers: [otlp, splunk_log_profile]
      processors: [profile_deduplicator]
      exporters: [%[7]s]
  telemetry:
    metrics: {level: none}
`

// TestVersions sends a message from a sender of each version, over each transport and encoding, to each receiver of the
// gateway. At a receiver of each version it is what was sent. The gateway refuses only the JSON of v0.159.
func TestVersions(t *testing.T) {
	peers := buildPeers(t)
	addresses := must.Get(gateway.FreeAddresses(t.Context(), 5+2*len(versions)))(t)
	receivers := map[string]*receiving{}
	var exporters strings.Builder
	var names []string
	for i, version := range versions {
		grpcAddress, httpAddress := addresses[5+2*i], addresses[6+2*i]
		receivers[version] = receive(t, peers[version], grpcAddress, httpAddress)
		fmt.Fprintf(&exporters, "  otlp_grpc/%[1]d: {endpoint: %[2]q, tls: {insecure: true}, compression: none}\n  otlp_http/%[1]d: {endpoint: 'http://%[3]s', compression: none}\n",
			i, grpcAddress, httpAddress)
		names = append(names, fmt.Sprintf("otlp_grpc/%[1]d, otlp_http/%[1]d", i))
	}
	run(t, fmt.Sprintf(config, addresses[0], addresses[1], addresses[2], addresses[3], addresses[4], exporters.String(), strings.Join(names, ", ")),
		addresses[4])
	for _, version := range versions {
		for i, receiver := range []string{"otlp", "splunk_log_profile"} {
			for _, way := range [][2]string{{"grpc", "proto"}, {"http", "proto"}, {"http", "json"}} {
				address := addresses[2*i]
				if way[0] == "http" {
					address = addresses[2*i+1]
				}
				service := strings.Join([]string{version, receiver, way[0], way[1]}, "-")
				t.Run(service, func(t *testing.T) {
					want := message(t, service)
					err := send(t, peers[version], way[0], way[1], address, asJSON(t, want))
					if version == "v0.159.0" && way[1] == "json" {
						require.ErrorContains(t, err, "400 Bad Request")
						require.ErrorContains(t, err, "has both key and key_strindex")
						return
					}
					require.NoError(t, err)
					for _, at := range versions {
						arrivesOnce(t, receivers[at], service, want)
					}
				})
			}
		}
	}
}

// arrivesOnce waits until a message has come over each transport, and compares it.
func arrivesOnce(t *testing.T, at *receiving, service string, want pprofile.Profiles) {
	t.Helper()
	require.Eventually(t, func() bool { return len(at.of(service)) == 2 }, patience, 20*time.Millisecond)
	for transport, messages := range at.of(service) {
		assert.Len(t, messages, 1, transport)
		assert.Empty(t, profiletest.Diff(otlpsink.Delivered(want)[0], messages[0]), transport)
	}
}

// run runs the gateway until the test ends.
func run(t *testing.T, configuration, health string) {
	t.Helper()
	gatewaytest.Run(t, gateway.Options{Configs: []string{configuration}, HealthURL: "http://" + health})
}

// message is a profile with labels and links, of a service with attributes of several kinds.
func message(t *testing.T, service string) pprofile.Profiles {
	t.Helper()
	payload := must.Get(os.ReadFile("../../testdata/pprof/labelled.pb.gz"))(t)
	resource := pcommon.NewMap()
	resource.PutStr("service.name", service)
	resource.PutInt("process.pid", 42)
	resource.PutEmptySlice("process.command_args").AppendEmpty().SetStr("--verbose")
	resource.PutEmptyMap("labels").PutStr("team", "a")
	profiles, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{Resource: resource, ScopeName: "interop"})
	require.NoError(t, err)
	profiles.ResourceProfiles().At(0).ScopeProfiles().At(0).Scope().Attributes().PutStr("scope.key", "scope value")
	return profiles
}

// asJSON returns a message as OTLP JSON. Writing it leaves references in a message, so that it is a copy that is written.
func asJSON(t *testing.T, message pprofile.Profiles) []byte {
	t.Helper()
	written := pprofile.NewProfiles()
	message.CopyTo(written)
	text := must.Get((&pprofile.JSONMarshaler{}).MarshalProfiles(written))(t)
	return text
}

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
	stdin := must.Get(command.StdinPipe())(t)
	stdout := must.Get(command.StdoutPipe())(t)
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
