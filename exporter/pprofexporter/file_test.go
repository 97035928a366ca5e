// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// Each profile of this repository and of the clients becomes one file. google/pprof reads the same from it as from the payload.
func TestFilesEqualPayloads(t *testing.T) {
	payloads := map[string][]byte{}
	for _, file := range profiletest.OwnPprofs(t) {
		payloads[file.Name] = file.Bytes(t)
	}
	for _, capture := range profiletest.ClientPayloads(t) {
		if !capture.Legacy {
			payloads[capture.File+" "+capture.Part] = capture.Data
		}
	}
	f := newFixture(t, nil)
	seen := map[string]bool{}
	for name, payload := range payloads {
		inflated, _, err := inflate.Into(nil, payload, 64<<20, nil) // some clients send zstd, which google/pprof does not read
		require.NoError(t, err, name)
		want, form := profiletest.ParsePprof(inflated)
		require.Equal(t, profiletest.Proto, form, name)
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.Decode(t, payload, map[string]any{"service.name": name})), name)
		var added []string
		for _, file := range f.files(t) {
			if !seen[file] {
				added = append(added, file)
				seen[file] = true
			}
		}
		require.Len(t, added, 1, name)
		assert.Empty(t, profiletest.DiffPprof(want, f.read(t, added[0])), name)
	}
}

// The original pprof of a profile is written byte for byte, with the compression of the exporter.
func TestOriginalPayloadInFile(t *testing.T) {
	plain := profiletest.Inflate(t, deliverytest.OwnProfile(t, "cpu.pb.gz"))
	plain = append(plain, 0xf8, 0x7f, 1) // a field that no translation would write again
	smallest := must.Get(pprof.AppendGzip(nil, plain, 9))(t)
	decoder := pprof.NewDecoder(pprof.DecodeOptions{IncludeOriginalPayload: true})
	for _, payload := range [][]byte{plain, smallest} {
		f := newFixture(t, func(cfg *Config) { cfg.Encoding.PreferOriginalPayload = true })
		pd, _, err := decoder.Decode(payload, pprof.Source{})
		require.NoError(t, err)
		require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
		require.Len(t, f.files(t), 1)
		written := must.Get(os.ReadFile(filepath.Join(f.directory, f.files(t)[0])))(t)
		assert.False(t, bytes.Equal(payload, written))
		got := profiletest.Inflate(t, written)
		assert.Equal(t, plain, got)
	}
}

func TestFileName(t *testing.T) {
	f := newFixture(t, nil)
	pd := deliverytest.CPU(t, "checkout")
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	first := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	id := first.ProfileID()
	assert.Equal(t, []string{fmt.Sprintf("checkout/cpu/%s-%s.pb.gz",
		first.Time().AsTime().Format("20060102T150405.000000000Z"), hex.EncodeToString(id[:]))}, f.files(t))
}

// Files with hostile names stay below the directory, and each has its own name.
func TestHostileNames(t *testing.T) {
	base := t.TempDir()
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Directory = filepath.Join(base, "profiles") })
	services := []string{
		"../../../../etc", "/etc/passwd", "..", ".", "a/b", "a_b", `a\b`, "a\x00b", "nul", "NUL", "con.txt", ".hidden", "-rf", " ",
		"", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "\xff\xfe", "é", "e\u0301", "a\nb", "~", "$(reboot)", "<script>",
	}
	for _, service := range services {
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, service)), "%q", service)
	}
	assert.Len(t, f.services(t), len(services), "a directory for each")
	above := must.Get(os.ReadDir(base))(t)
	assert.Len(t, above, 1)
	for _, file := range f.files(t) {
		assert.True(t, filepath.IsLocal(file))
		assert.Equal(t, 2, strings.Count(file, "/"), file)
		f.read(t, file)
	}
}

// A repeated upload becomes the same file, even without an id. Two profiles with the same name are both written.
func TestRepeatedAndEqualNames(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Path = "{service.name}.pb.gz" })
	without := deliverytest.CPU(t, "a")
	for _, p := range without.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		p.SetProfileID(pprofile.ProfileID{})
	}
	for range 3 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), without))
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	}
	assert.Equal(t, []string{"a.pb.gz"}, f.files(t), "the same profile")
	for _, name := range []string{"heap.pb.gz", "goroutine.pb.gz", "heap.pb.gz"} {
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.Decode(t, deliverytest.OwnProfile(t, name), map[string]any{"service.name": "a"})))
	}
	assert.Len(t, f.files(t), 3, "other profiles")

	byID := newFixture(t, func(cfg *Config) { cfg.File.Get().Path = "{profile.id}.pb.gz" })
	for range 2 {
		require.NoError(t, byID.ConsumeProfiles(t.Context(), without))
	}
	require.Len(t, byID.files(t), 1)
	assert.NotContains(t, byID.files(t)[0], strings.Repeat("0", 32))
}

func TestTranslatorOptions(t *testing.T) {
	pd := deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": "a", "host.name": "h1"})
	f := newFixture(t, func(cfg *Config) { cfg.Encoding.ResourceComments = true })
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))
	assert.Contains(t, f.read(t, f.files(t)[0]).Comments, "resource:host.name=h1")

	timed := pprofile.NewProfiles()
	pd.CopyTo(timed)
	sample := timed.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
	sample.TimestampsUnixNano().FromRaw([]uint64{1_700_000_000_000_000_000})
	sample.Values().FromRaw([]int64{1})
	f = newFixture(t, func(cfg *Config) { cfg.Encoding.Timestamps = options.TimestampsLabel })
	require.NoError(t, f.ConsumeProfiles(t.Context(), timed))
	labels := 0
	for _, sample := range f.read(t, f.files(t)[0]).Sample {
		labels += len(sample.NumLabel["timestamp"])
	}
	assert.Equal(t, 1, labels)
}

// An invalid profile is rejected permanently. The other profiles are written.
func TestBadProfile(t *testing.T) {
	f := newFixture(t, nil)
	pd := deliverytest.Request(t, deliverytest.CPU(t, "before"), deliverytest.CPU(t, "bad"), deliverytest.CPU(t, "after"))
	deliverytest.Spoil(pd, 1)
	err := f.ConsumeProfiles(t.Context(), pd)
	require.Error(t, err)
	assert.True(t, consumererror.IsPermanent(err))
	assert.Equal(t, map[string]int{"before": 1, "after": 1}, f.services(t))
	assert.Empty(t, f.host.statuses(), "the destination is well")
	assert.NoError(t, f.ConsumeProfiles(t.Context(), pprofile.NewProfiles()), "nothing is nothing")
}

// The path of one service is blocked. Its profile is lost at once, and the others are written.
func TestBlockedPath(t *testing.T) {
	outside := t.TempDir()
	f := newFixture(t, nil)
	require.NoError(t, os.Symlink(outside, filepath.Join(f.directory, "planted")))
	err := f.ConsumeProfiles(t.Context(), deliverytest.Request(t, deliverytest.CPU(t, "planted"), deliverytest.CPU(t, "free")))
	assert.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, `the path is blocked by "planted"`)
	assert.Equal(t, map[string]int{"free": 1, "planted": 1}, f.services(t), "the link is still there")
	entries := must.Get(os.ReadDir(outside))(t)
	assert.Empty(t, entries)
}

// The options whose effect is visible on the disk only.
func TestModesAndLevel(t *testing.T) {
	sizes := map[int]int64{}
	for _, level := range []int{1, 9} {
		f := newFixture(t, func(cfg *Config) {
			cfg.File.Get().CompressionLevel = level
			cfg.File.Get().FileMode, cfg.File.Get().DirectoryMode = "0400", "0700"
		})
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "checkout")))
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "checkout")), "again")
		info := must.Get(os.Stat(filepath.Join(f.directory, f.files(t)[0])))(t)
		assert.Equal(t, os.FileMode(0o400), info.Mode())
		sizes[level] = info.Size()
		info, err := os.Stat(filepath.Join(f.directory, "checkout"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	assert.Less(t, sizes[9], sizes[1])
}

// timeless returns a message with one profile that has no time.
func timeless(t *testing.T) pprofile.Profiles {
	t.Helper()
	p := must.Get(profile.ParseData(deliverytest.SmallCPU(t)))(t)
	p.TimeNanos = 0
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	pd := deliverytest.Decode(t, out.Bytes(), map[string]any{"service.name": "a"})
	pd.MarkReadOnly()
	return pd
}

// Three equal uploads without a time become three files. Their names have the times of arrival. Their bytes and ids are equal.
func TestArrival(t *testing.T) {
	f := newFixture(t, nil)
	hour := 0
	f.Profiles.(*arrivalTimes).now = func() time.Time {
		hour++
		return time.Date(2026, 11, 22, hour, 0, 0, 7, time.UTC)
	}
	for range 3 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	}
	files := f.files(t)
	require.Len(t, files, 3)
	var ids, contents []string
	for i, file := range files {
		name, id, found := strings.Cut(strings.TrimPrefix(file, "a/cpu/"), "-")
		require.True(t, found)
		assert.Equal(t, time.Date(2026, 11, 22, i+1, 0, 0, 7, time.UTC).Format("20060102T150405.000000000Z"), name)
		content := must.Get(os.ReadFile(filepath.Join(f.directory, file)))(t)
		ids, contents = append(ids, id), append(contents, string(content))
		assert.Zero(t, f.read(t, file).TimeNanos, "the pprof is as it was")
	}
	for i := range files {
		assert.Equal(t, ids[0], ids[i])
		assert.Equal(t, contents[0], contents[i])
	}
}

func TestTimeOfItsOwn(t *testing.T) {
	f := newFixture(t, nil)
	f.Profiles.(*arrivalTimes).now = func() time.Time { t.Error("a profile with a time has no other"); return time.Now() }
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
	assert.Len(t, f.files(t), 1)
}

func TestTimeKeep(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Time = TimeKeep })
	for range 3 {
		require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	}
	require.Len(t, f.files(t), 1, "the same upload, the same name")
	assert.Contains(t, f.files(t)[0], "19700101T000000.000000000Z-")
}

// The time in the name is that of the first attempt, however late the file is written.
func TestArrivalOfRepetition(t *testing.T) {
	f := newFixture(t, func(cfg *Config) {
		cfg.File.Get().Directory = filepath.Join(cfg.File.Get().Directory, "profiles")
		cfg.RetryConfig.Enabled = true
		cfg.RetryConfig.InitialInterval, cfg.RetryConfig.MaxInterval = 5*time.Millisecond, 5*time.Millisecond
		cfg.QueueConfig = configoptional.Some(exporterhelper.NewDefaultQueueConfig())
	})
	var calls atomic.Int64
	f.Profiles.(*arrivalTimes).now = func() time.Time { return time.Unix(1_800_000_000+calls.Add(1), 0) }
	require.NoError(t, os.RemoveAll(f.directory))
	require.NoError(t, os.WriteFile(f.directory, nil, 0o600))
	require.NoError(t, f.ConsumeProfiles(t.Context(), timeless(t)))
	require.Eventually(t, func() bool { return len(f.host.statuses()) > 0 }, deliverytest.Patience, time.Millisecond)
	require.NoError(t, os.Remove(f.directory))
	require.Eventually(t, func() bool { return f.services(t)["a"] == 1 && len(f.host.statuses()) > 1 }, deliverytest.Patience, time.Millisecond)
	assert.Contains(t, f.files(t)[0], time.Unix(1_800_000_001, 0).UTC().Format("20060102T150405"))
}

// A long attribute in the path is read once for all profiles of its resource, without copies.
func TestLongAttributeInPath(t *testing.T) {
	const size, profiles = 8 << 20, 40
	f := newFixture(t, func(cfg *Config) { cfg.File.Get().Path = "{a}/{time}-{profile.id}.pb.gz" })
	pd := deliverytest.CPU(t, "s")
	pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("a", strings.Repeat("a", size))
	all := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	for i := range profiles {
		one := all.AppendEmpty()
		all.At(0).CopyTo(one)
		one.SetTime(one.Time() + pcommon.Timestamp(i+1))
		one.SetProfileID(pprofile.ProfileID{byte(i + 1)})
	}
	assert.Less(t, memorytest.Allocated(func() { require.NoError(t, f.ConsumeProfiles(t.Context(), pd)) }), int64(profiles*size/2))
	assert.GreaterOrEqual(t, len(f.files(t)), profiles)
}
