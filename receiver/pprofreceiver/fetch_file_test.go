// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// onceAnHour is a schedule for tests that call round themselves.
func onceAnHour() ScheduleConfig {
	return ScheduleConfig{CollectionInterval: time.Hour, InitialDelay: time.Hour}
}

// runFiles reads files below a directory. change changes the configuration. Only the test starts rounds.
func runFiles(t *testing.T, host component.Host, directory string, change func(*FileConfig)) *running {
	t.Helper()
	cfg := fetchConfig()
	section := cfg.File.GetOrInsertDefault()
	section.Schedule, section.Include, section.Settle = onceAnHour(), filepath.Join(directory, "**", "*.pb.gz"), 0
	section.IncludeFilePath = true
	if change != nil {
		change(section)
	}
	return runConfig(t, host, cfg)
}

// roundNow runs one round and reports its state.
func (f *files) roundNow(ctx context.Context) {
	err := f.round(ctx)
	f.health.set(f.cfg.Include, err)
}

// round runs one round, and returns the number of messages so far.
func (r *running) round(t *testing.T) int {
	t.Helper()
	r.receiver.sections[0].(*files).roundNow(t.Context())
	return len(r.sink.wait(t, 0))
}

// fetches returns the number of files by outcome.
func (r *running) fetches() map[string]int64 {
	return r.counts("otelcol_receiver_pprof_fetches", "outcome")
}

// put writes a file atomically: to another name, which it then renames.
func put(t *testing.T, content []byte, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name+".tmp", content, 0o600))
	require.NoError(t, os.Rename(name+".tmp", name))
	return name
}

// paths returns the files of the messages, in order.
func (s *sink) paths(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, message := range s.all() {
		path, ok := message.ResourceProfiles().At(0).Resource().Attributes().Get("file.path")
		require.True(t, ok)
		all = append(all, path.Str())
	}
	return all
}

// TestFileOnce reads each file once, also if the pattern matches it several times, and again after a change.
func TestFileOnce(t *testing.T) {
	directory := t.TempDir()
	body := gz(t, plain(t, cpuProfile(2)))
	first := put(t, body, directory, "first.pb.gz")
	put(t, body, directory, "ignored.txt")
	require.NoError(t, os.Mkdir(filepath.Join(directory, "directory.pb.gz"), 0o750))
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	require.Equal(t, 1, r.round(t))
	assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(r.sink.all()[0]))

	second := put(t, body, directory, "a", "b", "second.pb.gz")
	require.Equal(t, 2, r.round(t))
	require.Equal(t, 2, r.round(t))
	assert.Equal(t, []string{first, second}, r.sink.paths(t), "each once")

	put(t, gz(t, plain(t, cpuProfile(3))), directory, "first.pb.gz")
	require.Equal(t, 3, r.round(t))
	require.Equal(t, 3, r.round(t))
	assert.Equal(t, []string{first, second, first}, r.sink.paths(t))
	assert.Equal(t, map[string]int64{"samples/count": 6, "cpu/nanoseconds": 60_000_000}, sums(r.sink.all()[2]))

	// The same size with another time is a change, too.
	require.NoError(t, os.Chtimes(second, time.Now(), time.Now().Add(-time.Hour)))
	require.Equal(t, 4, r.round(t))
	assert.Equal(t, map[string]int64{"file": 4}, r.counts("otelcol_receiver_pprof_payloads", "api"))
	assert.Equal(t, map[string]int64{"ok": 4}, r.fetches())
}

// TestFileRounds runs rounds on schedule.
func TestFileRounds(t *testing.T) {
	directory := t.TempDir()
	body := plain(t, cpuProfile(1))
	put(t, body, directory, "a.pb.gz")
	host := &watchingHost{}
	r := runFiles(t, host, directory, func(cfg *FileConfig) { cfg.Schedule, cfg.Timeout = soon(), time.Minute })
	r.sink.wait(t, 1)
	put(t, body, directory, "b.pb.gz")
	r.sink.wait(t, 2)
	host.waitFor(t, componentstatus.StatusOK)
}

// TestFileBeingWritten: a file is read completely after it has not changed for the time settle, and not before.
func TestFileBeingWritten(t *testing.T) {
	directory := t.TempDir()
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Settle = time.Hour })
	body := gz(t, plain(t, cpuProfile(2)))
	path := filepath.Join(directory, "slow.pb.gz")
	file := must.Get(os.Create(path))(t)
	defer file.Close()
	for part := range slices.Chunk(body, len(body)/5+1) {
		_, err := file.Write(part)
		require.NoError(t, err)
		require.Zero(t, r.round(t))
		require.Zero(t, r.round(t), "it does not change any more, but not for long")
	}
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour)))
	assert.Equal(t, 1, r.round(t))
	assert.Equal(t, map[string]int64{"ok": 1}, r.fetches(), "no half of it was tried")
}

// TestFileEmpty: an empty file is not read, however long it stays empty.
func TestFileEmpty(t *testing.T) {
	directory := t.TempDir()
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.DeleteAfterRead = true })
	path := put(t, nil, directory, "x.pb.gz")
	require.Zero(t, r.round(t))
	require.FileExists(t, path)
	require.NoError(t, os.WriteFile(path, plain(t, cpuProfile(1)), 0o600))
	require.Equal(t, 1, r.round(t))
	assert.NoFileExists(t, path)
}

// TestFileFromTheFuture: a file with a modification time in the future is read, but not if that is as near as that of a file which has
// just changed.
func TestFileFromTheFuture(t *testing.T) {
	directory := t.TempDir()
	path := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Settle = 10 * time.Minute })
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Minute)))
	require.Zero(t, r.round(t))
	require.NoError(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	require.Equal(t, 1, r.round(t))
}

// afterwards has what can be done with a file that was accepted. done is the directory for files that are moved.
func afterwards(done string) map[string]func(*FileConfig) {
	return map[string]func(*FileConfig){
		"delete": func(cfg *FileConfig) { cfg.DeleteAfterRead = true },
		"move":   func(cfg *FileConfig) { cfg.MoveTo = done },
	}
}

// TestFileAfterwards: files that were accepted are deleted or moved, and forgotten, also the last one of a directory. One that is refused
// is tried once. Moved files are not read again, although the pattern matches them.
func TestFileAfterwards(t *testing.T) {
	for name := range afterwards("") {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			done := filepath.Join(directory, "done")
			r := runFiles(t, componenttest.NewNopHost(), directory, afterwards(done)[name])
			for i := range 3 {
				good := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
				require.Equal(t, i+1, r.round(t))
				assert.NoFileExists(t, good)
				require.Equal(t, i+1, r.round(t))
			}
			f := r.receiver.sections[0].(*files)
			assert.Empty(t, f.state.read)
			assert.Empty(t, f.missing)
			if name == "move" {
				assert.Equal(t, []string{"x.pb.gz", "x.pb.gz.1", "x.pb.gz.2"}, names(t, done))
			}

			bad := put(t, []byte("garbage"), directory, "bad.pb.gz")
			require.Equal(t, 3, r.round(t))
			require.Equal(t, 3, r.round(t))
			assert.FileExists(t, bad)
			assert.Equal(t, map[string]int64{"ok": 3, "malformed": 1}, r.fetches())
			put(t, plain(t, cpuProfile(1)), directory, "bad.pb.gz")
			assert.Equal(t, 4, r.round(t))
		})
	}
}

// TestFileReplacedMeanwhile: a version that replaces a file while the next consumer has it is neither deleted nor moved before
// it was read.
func TestFileReplacedMeanwhile(t *testing.T) {
	for name := range afterwards("") {
		t.Run(name, func(t *testing.T) {
			directory, done := t.TempDir(), t.TempDir()
			path := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
			second := plain(t, cpuProfile(2))
			r := runFiles(t, componenttest.NewNopHost(), directory, afterwards(done)[name])
			r.sink.set(func(context.Context) error {
				put(t, second, path)
				return nil
			})
			require.Equal(t, 1, r.round(t))
			require.FileExists(t, path, "the second version was not read")
			assert.Empty(t, names(t, done))
			r.sink.set(nil)
			require.Equal(t, 2, r.round(t))
			assert.NoFileExists(t, path)
			assert.Equal(t, map[string]int64{"samples/count": 3, "cpu/nanoseconds": 30_000_000}, sums(r.sink.all()[1]))
		})
	}
}

// TestFileMoveFails: a move that fails is tried again in every round. Until it succeeds, or the file is gone, the status is an
// error. A file that was refused for its content is not moved then either.
func TestFileMoveFails(t *testing.T) {
	directory := t.TempDir()
	done := filepath.Join(directory, "done")
	first := put(t, plain(t, cpuProfile(1)), directory, "first.pb.gz")
	second := put(t, plain(t, cpuProfile(1)), directory, "second.pb.gz")
	bad := put(t, []byte("garbage"), directory, "bad.pb.gz")
	host := &watchingHost{}
	r := runFiles(t, host, directory, func(cfg *FileConfig) { cfg.MoveTo = done })
	require.NoError(t, os.Remove(done))
	for range 3 {
		require.Equal(t, 2, r.round(t), "each is delivered once")
		require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "done")
		require.FileExists(t, first)
	}
	require.NoError(t, os.Remove(second))
	require.NoError(t, os.Mkdir(done, 0o750))
	require.Equal(t, 2, r.round(t))
	assert.Equal(t, componentstatus.StatusOK, host.last().Status())
	assert.Equal(t, []string{"first.pb.gz"}, names(t, done))
	assert.FileExists(t, bad)
	assert.False(t, r.receiver.sections[0].(*files).state.read[first].Undone)
}

// TestFileMoveBlocked: the error says why a file cannot be moved, and not that there is no name for it.
func TestFileMoveBlocked(t *testing.T) {
	directory := t.TempDir()
	path := put(t, plain(t, cpuProfile(1)), directory, "x.pb.gz")
	blocked := put(t, nil, directory, "file")
	require.ErrorIs(t, moveTo(blocked, path), syscall.ENOTDIR)
}

func names(t *testing.T, directory string) (all []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(directory))(t)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// TestFilesWaitTogether: while files only wait for their results, others are read, up to a limit.
func TestFilesWaitTogether(t *testing.T) {
	directory := t.TempDir()
	for i := range maxWaitingFiles + 3 {
		put(t, plain(t, cpuProfile(1)), directory, strconv.Itoa(i)+".pb.gz")
	}
	r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.DeleteAfterRead = true })
	entered, release := make(chan struct{}, maxWaitingFiles+3), make(chan struct{})
	r.sink.set(func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.receiver.sections[0].(*files).roundNow(t.Context())
	}()
	for range maxWaitingFiles {
		<-entered
	}
	time.Sleep(20 * time.Millisecond)
	assert.Empty(t, entered, "the others wait for these")
	close(release)
	<-done
	assert.Len(t, r.sink.all(), maxWaitingFiles+3)
	left := must.Get(os.ReadDir(directory))(t)
	assert.Empty(t, left)
	assert.Equal(t, map[string]int64{"ok": maxWaitingFiles + 3}, r.fetches())
}

// TestFileDoneHoldsNothing: a file whose result has come holds no memory while another is processed, which may wait for it.
func TestFileDoneHoldsNothing(t *testing.T) {
	directory := t.TempDir()
	put(t, plain(t, cpuProfile(1)), directory, "a.pb.gz")
	budget := memory.New(100<<20, time.Minute)
	r := runFiles(t, budgettest.NewHost(budget), directory, nil)
	section := r.receiver.sections[0].(*files)
	r.sink.set(func(context.Context) error {
		section.processing.Lock()
		return nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		section.roundNow(t.Context())
	}()
	require.Eventually(t, func() bool { return len(r.sink.all()) == 1 && used(budget) == 0 }, 10*time.Second, time.Millisecond)
	section.processing.Unlock()
	<-done
}

// TestFileLater: a file is retried while the next consumer refuses it with a retryable error.
func TestFileLater(t *testing.T) {
	directory := t.TempDir()
	put(t, plain(t, cpuProfile(1)), directory, "a.pb.gz")
	put(t, plain(t, cpuProfile(2)), directory, "b.pb.gz")
	host := &watchingHost{}
	r := runFiles(t, host, directory, func(cfg *FileConfig) { cfg.DeleteAfterRead = true })
	r.sink.set(func(context.Context) error { return errors.New("data refused due to high memory usage") })
	r.round(t)
	require.Zero(t, r.round(t))
	// The next file would fail for the same reason. It may begin before the first one has failed.
	fetches := r.fetches()
	require.Len(t, fetches, 1)
	assert.Contains(t, []int64{2, 3, 4}, fetches["consumer_unavailable"])
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "high memory usage")
	assert.Len(t, names(t, directory), 2)
	r.sink.set(nil)
	require.Equal(t, 2, r.round(t))
	host.waitFor(t, componentstatus.StatusOK)
	assert.Empty(t, names(t, directory))
}

// TestFileLimits: a file above the limit is refused before reading, and one whose content inflates above it, too.
func TestFileLimits(t *testing.T) {
	directory := t.TempDir()
	put(t, make([]byte, 5000), directory, "large.pb.gz")
	put(t, gzipped(t, zeros(1<<20)), directory, "bomb.pb.gz")
	cfg := fetchConfig()
	cfg.Limits.InflatedBytes = 4000
	section := cfg.File.GetOrInsertDefault()
	section.Schedule, section.Include, section.Settle = onceAnHour(), filepath.Join(directory, "*"), 0
	r := runConfig(t, componenttest.NewNopHost(), cfg)
	r.round(t)
	require.Zero(t, r.round(t))
	assert.Equal(t, map[string]int64{"too_large": 2}, r.fetches())
}

// TestFileLegacy: the older formats are read by default.
func TestFileLegacy(t *testing.T) {
	directory := t.TempDir()
	put(t, []byte(heapText), directory, "x.pb.gz")
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	require.Equal(t, 1, r.round(t))

	r = runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.LegacyFormats = false })
	require.Zero(t, r.round(t))
	assert.Equal(t, map[string]int64{"not_pprof": 1}, r.fetches())
}

// TestFileUnreadableDirectory: while a directory cannot be read, its files are not forgotten, other files are read, and the
// status is an error.
func TestFileUnreadableDirectory(t *testing.T) {
	directory, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "a")
	unreadable := filepath.Join(directory, "a")
	put(t, plain(t, cpuProfile(1)), unreadable, "x.pb.gz")
	host := &watchingHost{}
	r := runFiles(t, host, directory, nil)
	require.Equal(t, 1, r.round(t))

	// A link to itself is unreadable for root, too.
	require.NoError(t, os.Rename(unreadable, elsewhere))
	require.NoError(t, os.Symlink(unreadable, unreadable))
	put(t, plain(t, cpuProfile(1)), directory, "b", "y.pb.gz")
	require.Equal(t, 2, r.round(t))
	require.ErrorContains(t, host.waitFor(t, componentstatus.StatusRecoverableError).Err(), "cannot list all files: stat a:")

	require.NoError(t, os.Remove(unreadable))
	require.NoError(t, os.Rename(elsewhere, unreadable))
	require.Equal(t, 2, r.round(t), "both were read before")
	assert.Equal(t, componentstatus.StatusOK, host.last().Status())
}

// TestFileSymlinks: links to files are read, and links to nothing are ignored.
func TestFileSymlinks(t *testing.T) {
	directory, elsewhere := t.TempDir(), t.TempDir()
	file := put(t, plain(t, cpuProfile(1)), elsewhere, "real")
	require.NoError(t, os.Symlink(file, filepath.Join(directory, "link.pb.gz")))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "nothing"), filepath.Join(directory, "broken.pb.gz")))
	r := runFiles(t, componenttest.NewNopHost(), directory, nil)
	require.Equal(t, 1, r.round(t))
	require.Equal(t, 1, r.round(t))
	assert.True(t, strings.HasSuffix(r.sink.paths(t)[0], "link.pb.gz"))
}

// TestFileLinksToDirectories: a file is read once, under its own name if the pattern matches that, although links lead to it, to its directory,
// or above it.
func TestFileLinksToDirectories(t *testing.T) {
	directory := t.TempDir()
	put(t, plain(t, cpuProfile(1)), directory, "releases", "1", "x.pb.gz")
	put(t, plain(t, cpuProfile(2)), directory, "service", "2", "y.pb.gz")
	for name, to := range map[string]string{
		"a": "releases", "service/a.pb.gz": "2/y.pb.gz", "service/latest": "../releases/1", "service/b": "2", "service/loop": ".", "service/above": "..",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(directory, filepath.FromSlash(name))))
	}
	for pattern, want := range map[string][]string{
		"**/*.pb.gz":                 {"releases/1/x.pb.gz", "service/2/y.pb.gz"},
		"service/**/*.pb.gz":         {"service/2/y.pb.gz", "service/above/a/1/x.pb.gz"},
		"**/latest/*.pb.gz":          {"service/latest/x.pb.gz"},
		"*/latest/*.pb.gz":           {"service/latest/x.pb.gz"},
		"service/latest/**/*.pb.gz":  {"service/latest/x.pb.gz"},
		"service/*.pb.gz":            {"service/a.pb.gz"},
		"service/{*,b/*}.pb.gz":      {"service/a.pb.gz"},
		"service/{*,b/*,2/*}.pb.gz":  {"service/2/y.pb.gz"},
		"{a,releases}/*/x.pb.gz":     {"releases/1/x.pb.gz"},
		"service/latest/x.pb.gz":     {"service/latest/x.pb.gz"},
		"service/{latest,2}/*.pb.gz": {"service/latest/x.pb.gz", "service/2/y.pb.gz"},
	} {
		r := runFiles(t, componenttest.NewNopHost(), directory, func(cfg *FileConfig) { cfg.Include = filepath.Join(directory, pattern) })
		require.Equal(t, len(want), r.round(t), pattern)
		for i := range want {
			want[i] = filepath.Join(directory, filepath.FromSlash(want[i]))
		}
		assert.ElementsMatch(t, want, r.sink.paths(t), pattern)
	}
}
