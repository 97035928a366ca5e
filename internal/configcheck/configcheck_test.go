// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
)

type part struct {
	Wait time.Duration `mapstructure:"wait"`
	Size int           `mapstructure:"size" unit:"bytes"`
}

type whole struct {
	Squashed part                          `mapstructure:",squash"`
	On       configoptional.Optional[part] `mapstructure:"on"`
	Off      configoptional.Optional[part] `mapstructure:"off"`
	Pointer  *part                         `mapstructure:"pointer"`
	List     []part                        `mapstructure:"list"`
	Count    int                           `mapstructure:"count"`
	Mode     string                        `mapstructure:"mode" words:"on off auto"`
}

func (*part) Replaced() map[string]string { return map[string]string{"count": "write wait"} }

func (w *whole) Unmarshal(conf *confmap.Conf) error { return Unmarshal(conf, w) }

func TestUnmarshal(t *testing.T) {
	var w whole
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"size": "2KiB", "on": map[string]any{"enabled": true, "size": "3 MB"}, "off": map[string]any{"enabled": false},
		"pointer": map[string]any{"size": 4}, "list": []any{map[string]any{"wait": "1s"}}, "count": 5, "mode": "off",
	}).Unmarshal(&w))
	assert.Equal(t, 2048, w.Squashed.Size)
	assert.Equal(t, 3_000_000, w.On.Get().Size)
	assert.False(t, w.Off.HasValue())
	assert.Equal(t, 4, w.Pointer.Size)
	assert.Equal(t, []part{{Wait: time.Second}}, w.List)

	for want, values := range map[string]map[string]any{
		`on::siz is not an option, did you mean "size"?`:                {"on": map[string]any{"siz": 1}},
		`list[0]::other is not an option, the options are size, wait`:   {"list": []any{map[string]any{"other": 1}}},
		`pointer::enabled is not an option, the options are size, wait`: {"pointer": map[string]any{"enabled": true}},
		`on::count is not an option any more: write wait`:               {"on": map[string]any{"count": 1}},
		`list[1]::count is not an option any more: write wait`:          {"list": []any{map[string]any{}, map[string]any{"count": 1}}},
		`mode must be on, off or auto, is "of"`:                         {"mode": "of"},
		`mode must be on, off or auto, is ""`:                           {"mode": ""},
		`mode must be on, off or auto, is "true"`:                       {"mode": true},
		`size is "2 lots"`: {"size": "2 lots"},
		`size is "12K"`:    {"size": "12K"},
		`size is 9000000TiB, the largest size is 9223372036854775807 bytes`: {"size": "9000000TiB"},
		`'count' expected type 'int', got unconvertible type 'string'`:      {"count": "3KiB"},
	} {
		assert.ErrorContains(t, confmap.NewFromStringMap(values).Unmarshal(&whole{}), want)
	}
}

func TestDurations(t *testing.T) {
	w := &whole{
		Squashed: part{Wait: time.Millisecond}, Pointer: &part{Wait: 30},
		On: configoptional.Some(part{Wait: time.Millisecond - 1}), Off: configoptional.Default(part{Wait: 1}),
	}
	require.EqualError(t, Durations(w), "on::wait is 999.999µs, which is less than 1ms: write a unit, for example 30s\n"+
		"pointer::wait is 30ns, which is less than 1ms: write a unit, for example 30s")
	require.NoError(t, Durations(&whole{}))
}

func TestAddresses(t *testing.T) {
	at := func(endpoint string) confignet.AddrConfig {
		return confignet.AddrConfig{Endpoint: endpoint, Transport: confignet.TransportTypeTCP}
	}
	for _, good := range []string{"localhost:4040", ":4040", "[::1]:0", "0.0.0.0:http"} {
		require.NoError(t, ListenAddress(at(good)), good)
	}
	require.NoError(t, ListenAddress(confignet.AddrConfig{Endpoint: "/run/a.sock", Transport: confignet.TransportTypeUnix}))
	for _, bad := range []string{"", "localhost", "localhost:", "::1", "http://localhost:4040", "a:99999", "a:-1"} {
		require.Error(t, ListenAddress(at(bad)), bad)
	}
	assert.True(t, Collide(at("a:1"), at("a:1")))
	assert.True(t, Collide(at("[::]:1"), at("a:1")))
	assert.True(t, Collide(at("a:1"), at(":1")))
	assert.False(t, Collide(at("a:1"), at("b:1")))
	assert.False(t, Collide(at("a:1"), at("a:2")))
	assert.False(t, Collide(at("a:0"), at("a:0")), "each gets a port of its own")
}

func TestPlaceholder(t *testing.T) {
	for _, good := range []string{"time", "profile.id", "service.name", "service.namespace", "team", "host.name", "deployment.environment"} {
		require.NoError(t, Placeholder(good), good)
	}
	for _, bad := range []string{"service", "service_name", "profile.ids", "times", "profile.duration", "type"} {
		require.ErrorContains(t, Placeholder(bad), "unknown placeholder {"+bad+"}", bad)
	}
}

func TestParameter(t *testing.T) {
	known := []string{"service.name", "resource."}
	for _, good := range []string{"service.name", "resource.a"} {
		require.NoError(t, Parameter(good, known), good)
	}
	for bad, says := range map[string]string{
		"service.nam":            `"service.nam" is not a parameter here, did you mean "service.name"?`,
		"service.name.a":         `did you mean "service.name"?`,
		"resource.":              `did you mean "resource."?`,
		"":                       `"" is not a parameter here, the known ones are service.name, resource.`,
		strings.Repeat("x", 999): `"` + strings.Repeat("x", 40) + `" is not a parameter here, the known ones are`,
	} {
		require.ErrorContains(t, Parameter(bad, known), says)
	}
}

func TestMetadataKeys(t *testing.T) {
	require.NoError(t, MetadataKeys("keys", []string{"service.name", "host.name"}))
	require.ErrorContains(t, MetadataKeys("keys", []string{"service.name", ""}), "keys[1] must not be empty")
	require.ErrorContains(t, MetadataKeys("keys", []string{"service.name", "Service.Name"}), `keys[1]: "Service.Name" is listed twice`)
}

func TestNumbers(t *testing.T) {
	require.NoError(t, Positive("a", 1))
	require.NoError(t, NotNegative("a", 0))
	require.NoError(t, Between("a", 1, 1, 9))
	require.NoError(t, Between("a", 9, 1, 9))
	require.EqualError(t, Positive("a", 0), "a must be above 0, is 0")
	require.EqualError(t, NotNegative("a", -time.Second), "a must not be negative, is -1s")
	require.EqualError(t, Between("a", int64(0), 1, 9), "a must be 1 to 9, is 0")
	require.EqualError(t, Between("a", int64(10), 1, 9), "a must be 1 to 9, is 10")
}

func TestBytes(t *testing.T) {
	require.NoError(t, Bytes("bytes", maxBytes))
	require.EqualError(t, Bytes("limits: bytes", 0), "limits: bytes must be above 0, is 0")
	require.EqualError(t, Bytes("bytes", maxBytes+1), fmt.Sprintf("bytes must not be above %d, is %d", maxBytes, maxBytes+1))
}

func TestLinkLabels(t *testing.T) {
	option := spanlink.DefaultLabels()
	require.NoError(t, LinkLabels(option))
	require.EqualError(t, LinkLabels(append(option, spanlink.Labels{Span: "span"})), "link_labels[3].trace must be set")
}
