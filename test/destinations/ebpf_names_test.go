// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/otlpsink"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// ebpfNames are the lines that config/ebpf.yaml has as comments.
const ebpfNames = `yaml:{processors: {profile_symbolizer: {directories: [%s], max_wait: 30s}},
service: {pipelines: {profiles: {processors: [memory_limiter, profile_deduplicator, profile_symbolizer, transform]}}}}`

// addressesOf returns the addresses without names of a message, by the GNU build id of their binary.
func addressesOf(d pprofile.ProfilesDictionary) map[string][]uint64 {
	addresses := map[string][]uint64{}
	for _, l := range d.LocationTable().All() {
		if l.MappingIndex() == 0 || l.Lines().Len() > 0 {
			continue
		}
		for _, i := range d.MappingTable().At(int(l.MappingIndex())).AttributeIndices().All() {
			if a := d.AttributeTable().At(int(i)); d.StringTable().At(int(a.KeyStrindex())) == "process.executable.build_id.gnu" {
				addresses[a.Value().Str()] = append(addresses[a.Value().Str()], l.Address())
			}
		}
	}
	return addresses
}

// TestEBPFNames sends what the eBPF profiler sent, and go tool pprof shows the names of native frames. The binaries, which nobody has any
// more, are made anew, with a function at each address.
func TestEBPFNames(t *testing.T) {
	body := must.Get(os.ReadFile(filepath.Join(profiletest.Corpus(t), "otlp", "sigprof-profile-renumbered-0.pb")))(t)
	pd := must.Get((&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body))(t)
	directory, functions := t.TempDir(), 0
	for id, addresses := range addressesOf(pd.Dictionary()) {
		name := filepath.Join(directory, ".build-id", id[:2], id[2:]+".debug")
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, elftest.WithAddresses(id, addresses), 0o600))
		functions += len(addresses)
	}
	require.Greater(t, functions, 50)
	want := eventsByService(pd)
	g := startEBPF(t, fmt.Sprintf(ebpfNames, directory))
	otlpsink.Send(t, g.otlp, pd)
	g.requireEvents(t, want)
	files := must.Get(filepath.Glob(filepath.Join(g.directory, "profiles", "*", "*", "*.pb.gz")))(t)
	out, err := exec.Command("go", append([]string{"tool", "pprof", "-top", "-nodefraction=0", "-symbolize=none"}, files...)...).Output()
	require.NoError(t, err)
	for _, addresses := range addressesOf(pd.Dictionary()) {
		for _, address := range addresses {
			assert.Contains(t, string(out), fmt.Sprintf("app::Worker::step%x", address))
		}
	}
}
