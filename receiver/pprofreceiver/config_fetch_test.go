// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestLoadContribSections loads the configuration in the documentation of contrib's receiver, unchanged.
func TestLoadContribSections(t *testing.T) {
	cfg := loadFile(t, "pprof/contrib_remote")
	assert.False(t, cfg.Server.HasValue(), "no server unless configured")
	remote := cfg.Remote.Get()
	require.NotNil(t, remote)
	assert.Equal(t, "http://localhost:6060/debug/pprof/profile?seconds=1", remote.HTTP.Endpoint)
	assert.Equal(t, 30*time.Second, remote.Schedule.CollectionInterval)
	assert.Equal(t, 3*time.Second, remote.Schedule.InitialDelay)
	assert.Equal(t, time.Minute, remote.HTTP.Timeout)
	header, _ := remote.HTTP.Headers.Get("X-Tenant")
	assert.EqualValues(t, "a", header)

	remote = loadFile(t, "pprof/contrib_remote_defaults").Remote.Get()
	assert.Equal(t, 10*time.Second, remote.Schedule.CollectionInterval)
	assert.Equal(t, time.Second, remote.Schedule.InitialDelay)

	file := loadFile(t, "pprof/contrib_file").File.Get()
	require.NotNil(t, file)
	assert.Equal(t, "/tmp/pprof/*", file.Include)
	assert.Equal(t, 20*time.Second, file.Schedule.CollectionInterval)
	assert.Equal(t, 5*time.Second, file.Timeout)
	assert.True(t, file.LegacyFormats, "contrib reads them, too")

	for name, want := range map[string]int{"pprof/contrib_self": 5, "pprof/contrib_self_defaults": 1} {
		cfg = loadFile(t, name)
		require.True(t, cfg.Self.HasValue(), name)
		assert.Equal(t, want, cfg.Self.Get().BlockProfileFraction)
		assert.Equal(t, want, cfg.Self.Get().MutexProfileFraction)
		assert.False(t, cfg.Server.HasValue())
	}

	cfg = loadFile(t, "pprof/contrib_all")
	assert.True(t, cfg.Server.HasValue() && cfg.Remote.HasValue() && cfg.File.HasValue() && cfg.Self.HasValue())
	assert.False(t, cfg.Scrape.HasValue())
}

func TestLoadScrape(t *testing.T) {
	cfg := loadFile(t, "pprof/scrape")
	assert.False(t, cfg.Server.HasValue())
	scrape := cfg.Scrape.Get()
	require.NotNil(t, scrape)
	assert.Equal(t, []TargetConfig{
		{Endpoint: "http://checkout:6060", Labels: map[string]string{"service.name": "checkout"}}, {Endpoint: "10.0.0.1:6060"},
	}, scrape.Targets)
	var resolved []ScrapedProfile
	for _, profile := range scrape.Profiles {
		resolved = append(resolved, scrape.resolve(scrape.PathPrefix, profile))
	}
	assert.Equal(t, []ScrapedProfile{
		{Name: "cpu", Path: "/prefix/profile", Seconds: 5, Delta: DeltaOff},
		{Name: "allocs", Path: "/prefix/allocs", Seconds: 5, Delta: DeltaTarget},
		{Name: "mutex", Path: "/prefix/mutex", Delta: DeltaComputed},
		{Name: "heap", Path: "/prefix/heap", Delta: DeltaOff},
		{Name: "fgprof", Path: "/debug/fgprof", Seconds: 7, Delta: DeltaOff},
		{Name: "counted", Path: "/prefix/counted", Delta: DeltaComputed},
	}, resolved)

	scrape = loadFile(t, "pprof/scrape_defaults").Scrape.Get()
	want := defaultScrapeConfig()
	want.Targets = []TargetConfig{{Endpoint: "localhost:6060"}}
	assert.Equal(t, &want, scrape)
}

func TestLoadFetchAll(t *testing.T) {
	cfg := loadFile(t, "pprof/fetch_all")
	assert.True(t, cfg.Server.HasValue(), "asked for")
	file := cfg.File.Get()
	storage := component.MustNewIDWithName("file_storage", "a")
	assert.Equal(t, &FileConfig{
		Schedule: ScheduleConfig{CollectionInterval: 3 * time.Second, InitialDelay: 0},
		Include:  "/a/**/{b,c}*.pb.gz", Timeout: 7 * time.Second, Settle: 5 * time.Second,
		MoveTo: "/done", IncludeFilePath: true, Storage: &storage,
	}, file)
	self := cfg.Self.Get()
	assert.Equal(t, []string{"cpu", "heap"}, self.Profiles)
	assert.Equal(t, time.Second, self.CPUDuration)
	assert.Equal(t, DeltaOff, self.Delta)
	assert.EqualValues(t, 1000, cfg.Remote.Get().MaxResponseSize)
	assert.EqualValues(t, 2000, cfg.Scrape.Get().MaxResponseSize)
}

// creatorConfig changes a configuration like the receiver_creator: it tests whether there is a key endpoint, and sets it
// to the discovered endpoint unless it is set.
func creatorConfig(t *testing.T, template map[string]any) *Config {
	t.Helper()
	const found = "10.1.2.3:6060"
	try := confmap.NewFromStringMap(map[string]any{"endpoint": found})
	discovered := map[string]any{"endpoint": found}
	if try.Unmarshal(NewFactory().CreateDefaultConfig()) != nil && try.Unmarshal(NewFactory().CreateDefaultConfig(), confmap.WithIgnoreUnused()) == nil {
		discovered = map[string]any{}
	}
	whole := confmap.NewFromStringMap(template)
	require.NoError(t, whole.Merge(confmap.NewFromStringMap(discovered)))
	cfg := must.Get(load(whole))(t)
	return cfg
}

// TestReceiverCreator loads the configuration that the receiver_creator makes from a template, with and without sections.
func TestReceiverCreator(t *testing.T) {
	for name, section := range map[string]any{"nothing": nil, "scrape": map[string]any{"profiles": []any{"cpu"}}} {
		cfg := creatorConfig(t, map[string]any{"scrape": section})
		assert.False(t, cfg.Server.HasValue(), name)
		require.True(t, cfg.Scrape.HasValue(), name)
		assert.Equal(t, []TargetConfig{{Endpoint: "10.1.2.3:6060"}}, cfg.Scrape.Get().Targets)
	}
	cfg := creatorConfig(t, map[string]any{"scrape": map[string]any{"targets": []any{map[string]any{"endpoint": "http://10.1.2.3:6060/app"}}}})
	assert.Equal(t, []TargetConfig{{Endpoint: "http://10.1.2.3:6060/app"}}, cfg.Scrape.Get().Targets, "the configured endpoint takes precedence")
	for name, values := range map[string]map[string]any{
		"alone": {"endpoint": "0.0.0.0:4040"}, "beside a server": {"endpoint": "0.0.0.0:4040", "server": map[string]any{"path": "/p"}},
	} {
		_, err := load(confmap.NewFromStringMap(values))
		require.ErrorContains(t, err, `endpoint "0.0.0.0:4040" is the target of scrape, which is not configured: write server::endpoint to listen there`, name)
	}
	cfg, err := load(confmap.NewFromStringMap(map[string]any{"endpoint": "http://10.1.2.3:6060"}))
	require.NoError(t, err, "a URL can be fetched from only")
	assert.Equal(t, []TargetConfig{{Endpoint: "http://10.1.2.3:6060"}}, cfg.Scrape.Get().Targets)
	cfg = creatorConfig(t, map[string]any{"remote": map[string]any{"endpoint": "http://10.1.2.3:6060/debug/pprof/heap"}})
	assert.False(t, cfg.Scrape.HasValue())
	assert.True(t, cfg.Remote.HasValue())

	_, err = newReceiver(nopSettings(), cfg, &sink{})
	require.NoError(t, err)
}

// TestStartErrors: an error of one section is returned, and the sections before it are shut down.
func TestStartErrors(t *testing.T) {
	missing := component.MustNewID("missing")
	for name, change := range map[string]func(*Config){
		"storage": func(cfg *Config) {
			section := cfg.File.GetOrInsertDefault()
			section.Include, section.Storage = "/x", &missing
		},
		"directory": func(cfg *Config) {
			section := cfg.File.GetOrInsertDefault()
			section.Include, section.MoveTo = "/x", filepath.Join("testdata", "config.yaml", "x")
		},
		"authenticator": func(cfg *Config) {
			section := defaultServerConfig()
			section.HTTP.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: missing}})
			cfg.Server = configoptional.Some(section)
		},
		"remote's client": func(cfg *Config) {
			section := cfg.Remote.GetOrInsertDefault()
			section.HTTP.Endpoint, section.HTTP.TLS.CAFile = "http://a", "missing.pem"
		},
		"scrape's client": func(cfg *Config) {
			section := cfg.Scrape.GetOrInsertDefault()
			section.Targets, section.HTTP.TLS.CAFile = []TargetConfig{{Endpoint: "a:1"}}, "missing.pem"
		},
	} {
		cfg := fetchConfig()
		change(cfg)
		r, err := newReceiver(nopSettings(), cfg, &sink{})
		require.NoError(t, err, name)
		require.Error(t, r.Start(t.Context(), componenttest.NewNopHost()), name)
		require.NoError(t, r.Shutdown(t.Context()), name)
	}
}

// TestDefaultsStayTheirOwn: changing a loaded configuration does not change the defaults.
func TestDefaultsStayTheirOwn(t *testing.T) {
	conf := must.Get(confmaptest.LoadConf(filepath.Join("testdata", "config.yaml")))(t)
	sub := must.Get(conf.Sub("pprof/contrib_self_defaults"))(t)
	first := must.Get(load(sub))(t)
	first.Self.Get().Profiles[0] = "x"
	second := must.Get(load(sub))(t)
	assert.Equal(t, "cpu", second.Self.Get().Profiles[0])
}
