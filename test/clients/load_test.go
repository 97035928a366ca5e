// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof" // what is scraped
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/must"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Clients that have no end, or leave their connections open.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("github.com/grafana/pyroscope-go/upstream/remote.(*Remote).handleJobs"),
		goleak.IgnoreAnyFunction("github.com/DataDog/datadog-go/v5/statsd.(*sender).sendLoop"),
	)
}

// hot is the name of what every client must find.
const hot = "clients.hotFunction"

// load is work to profile, until it is stopped: CPU time, memory that is held, and goroutines that wait for each other.
type load struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	held    [][]byte
}

// startLoad begins work with labels, key and value by turns.
func startLoad(t *testing.T, labels ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel}
	for range 2 {
		l.running.Go(func() {
			pprof.Do(ctx, pprof.Labels(labels...), func(ctx context.Context) {
				for ctx.Err() == nil {
					hotFunction(l)
				}
			})
		})
	}
	t.Cleanup(func() {
		l.stop()
		l.running.Wait()
	})
}

// hotFunction works, holds memory, and lets others wait.
//
//go:noinline
func hotFunction(l *load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	block := make([]byte, 1<<20)
	for until := time.Now().Add(5 * time.Millisecond); time.Now().Before(until); {
		sum := sha256.Sum256(block[:4096])
		copy(block, sum[:])
	}
	l.held = append(l.held, block)
	if len(l.held) > 32 {
		l.held = l.held[1:]
	}
}

// profileContention has the process record mutexes and blocking, until the test ends.
func profileContention(t *testing.T) {
	t.Helper()
	before := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	t.Cleanup(func() {
		runtime.SetMutexProfileFraction(before)
		runtime.SetBlockProfileRate(0)
	})
}

// TestScrape has the gateway scrape net/http/pprof of this process.
func TestScrape(t *testing.T) {
	profileContention(t)
	target := httptest.NewServer(http.DefaultServeMux)
	t.Cleanup(target.Close)
	startLoad(t, "controller", "cart")
	g := start(t, `scrape:
      targets: [{endpoint: "`+target.URL+`", labels: {service.name: scraped, team: a}}]
      collection_interval: 3s
      seconds: 1`)
	g.assertLoad(t, "scraped", "team=a", "server.address=127.0.0.1")
	assert.Equal(t, []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, typesOf(g.waitFor(t, "scraped", "allocs", hot)))
}

// TestFileRestart has the gateway remember, in a storage of its own on disk, what it read before it was started again.
func TestFileRestart(t *testing.T) {
	inbox, state := t.TempDir(), t.TempDir()
	storage := filepath.Join(t.TempDir(), "storage.yaml")
	require.NoError(t, os.WriteFile(storage, []byte(`extensions: {file_storage: {directory: "`+state+`"}}
service: {extensions: [health_check, file_storage]}`), 0o600))
	receiver := `resource_attributes: {service.name: restarted}
    file: {include: "` + filepath.Join(inbox, "*.pb.gz") + `", collection_interval: 100ms, settle: 0s, initial_delay: 0s, storage: file_storage, include_file_path: true}`
	startLoad(t, "controller", "cart")
	profile := cpuProfile(t)
	put := func(name string) {
		require.NoError(t, os.WriteFile(filepath.Join(inbox, name+".tmp"), profile, 0o600))
		require.NoError(t, os.Rename(filepath.Join(inbox, name+".tmp"), filepath.Join(inbox, name+".pb.gz")))
	}
	put("first")
	before := start(t, receiver, storage)
	p := before.waitFor(t, "restarted", "cpu", hot)
	assertResource(t, p, "file.path="+filepath.Join(inbox, "first.pb.gz"))
	require.NoError(t, before.Stop(patience))

	// By its name it is looked at after the first one, in the same round.
	put("second")
	after := start(t, receiver, storage)
	p = after.waitFor(t, "restarted", "cpu", hot)
	assertResource(t, p, "file.path="+filepath.Join(inbox, "second.pb.gz"))
	assert.Len(t, after.files(), 1, "the first one was read before")
}

// TestSelf has the gateway profile itself.
func TestSelf(t *testing.T) {
	g := start(t, "self: {profiles: [goroutine, heap], collection_interval: 500ms, initial_delay: 0s}")
	p := g.waitFor(t, "otelcol-pprof", "goroutine", "pprofreceiver")
	assertResource(t, p, "service.name=otelcol-pprof")
}

// TestVersions compares the table of clients in the receiver's README with what the tests run.
func TestVersions(t *testing.T) {
	versions := map[string]string{}
	modules := must.Get(os.ReadFile("go.mod"))(t)
	for _, module := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(modules), -1) {
		versions[module[1]] = module[2]
	}
	text := must.Get(os.ReadFile("node/package.json"))(t)
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	require.NoError(t, json.Unmarshal(text, &manifest))
	maps.Copy(versions, manifest.Dependencies)
	readme := must.Get(os.ReadFile("../../receiver/pprofreceiver/README.md"))(t)
	for _, client := range []string{
		"github.com/grafana/pyroscope-go", "github.com/grafana/pyroscope/api", "github.com/DataDog/dd-trace-go/v2", "google.golang.org/grpc",
		"@pyroscope/nodejs", "@datadog/pprof",
	} {
		require.NotEmpty(t, versions[client], client)
		row := regexp.MustCompile(`(?m)^\|[^|]*` + regexp.QuoteMeta("`"+client+"`") + `[^|]*\| ` + regexp.QuoteMeta(versions[client]) + ` \|`)
		assert.True(t, row.Match(readme), "the README has no row of %s %s", client, versions[client])
	}
}
