// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// engine is a storage of images and containers of its own, so that those of the machine are left alone.
type engine struct{ directory string }

// newEngine returns an engine, or skips the test where there can be none. OTELPPROF_REQUIRE_IMAGE makes that an error.
func newEngine(t *testing.T) engine {
	t.Helper()
	missing := ""
	if os.Getuid() != 0 {
		missing = "root"
	}
	for _, name := range []string{"buildah", "podman", "crun", "unshare", "make", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = name
		}
	}
	if missing != "" {
		cannot(t, "the image is neither built nor run: no "+missing)
	}
	e := engine{directory: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "buildah", append(e.storage(), "from", "scratch")...).CombinedOutput(); err != nil {
		cannot(t, "the image is neither built nor run: this machine has no storage for images: "+string(out))
	}
	return e
}

// requireContainers skips the rest of the test where podman cannot start a container, which its own status tells.
func (e engine) requireContainers(t *testing.T) {
	t.Helper()
	out, err := e.podman(append(restrictions("probe"), image, "--version")...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 125 && exit.ExitCode() <= 127 {
		cannot(t, "the image is not run: podman cannot start a container here: "+string(out))
	}
	require.NoError(t, err, "%s", out)
}

// cannot skips the test. With OTELPPROF_REQUIRE_IMAGE it fails.
func cannot(t *testing.T, why string) {
	t.Helper()
	require.Empty(t, os.Getenv("OTELPPROF_REQUIRE_IMAGE"), why)
	t.Skip(why)
}

// storage are the options that both programs have.
func (e engine) storage() []string {
	return []string{
		"--root", filepath.Join(e.directory, "storage"), "--runroot", filepath.Join(e.directory, "state"), "--storage-driver", "overlay",
	}
}

// buildah runs it and returns what it printed.
func (e engine) buildah(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(t.Context(), "buildah", append(e.storage(), arguments...)...))
}

// podman makes a command that is not started yet. It gets a mount namespace where the machine has both versions of cgroups
// mounted, which podman refuses: there it sees the first one alone.
func (e engine) podman(arguments ...string) *exec.Cmd {
	all := append([]string{"podman"}, e.storage()...)
	all = append(all, "--tmpdir", filepath.Join(e.directory, "tmp"), "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "crun")
	all = append(all, arguments...)
	const both = "/sys/fs/cgroup/unified"
	if _, err := os.Stat(both); err != nil {
		return exec.Command(all[0], all[1:]...)
	}
	return exec.Command("unshare", append([]string{
		"--mount", "--propagation", "private", "sh", "-c", "umount " + both + ` && exec "$@"`, "sh",
	}, all...)...)
}

// output runs a command, and returns its standard output.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	err := command.Run()
	require.NoError(t, err, "%s\n%s%s", strings.Join(command.Args, " "), out.String(), failure.String())
	return strings.TrimSpace(out.String())
}

const (
	image        = "localhost/otelcol-pprof:test"
	certificates = "/etc/ssl/certs/ca-certificates.crt"
	// maxSize is what the image may have in bytes. It is that of the binary, nearly.
	maxSize = 120_000_000
)

// build builds the Dockerfile as it is.
func (e engine) build(t *testing.T) {
	t.Helper()
	begin := time.Now()
	modules, cache := variable(t, "GOMODCACHE"), variable(t, "GOCACHE")
	e.standIn(t, modules, cache)
	temporary := filepath.Join(e.directory, "build")
	require.NoError(t, os.Mkdir(temporary, 0o700))
	arguments := []string{
		"build", "--isolation", "chroot", "--network", "host", "--pull-never", "--build-arg", "VERSION=0.1.0-image",
		"--volume", modules + ":" + modules, "--volume", cache + ":" + cache, "--volume", temporary + ":/tmp",
	}
	for _, directory := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc/ssl/certs", "/etc/alternatives", variable(t, "GOROOT")} {
		if _, err := os.Stat(directory); err == nil {
			arguments = append(arguments, "--volume", directory+":"+directory+":ro")
		}
	}
	e.buildah(t, append(arguments, "--tag", image, root)...)
	t.Logf("built in %s", time.Since(begin).Round(time.Second))
}

// standIn makes an image under the name of the first stage's base image.
func (e engine) standIn(t *testing.T, modules, cache string) {
	t.Helper()
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	require.NoError(t, err)
	base := regexp.MustCompile(`(?m)^FROM (golang:\S+) AS build$`).FindSubmatch(dockerfile)
	require.NotNil(t, base)
	container := e.buildah(t, "from", "scratch")
	e.buildah(t, "copy", "--quiet", container, certificates, certificates)
	e.buildah(
		t, "config", "--env", "PATH="+filepath.Join(variable(t, "GOROOT"), "bin")+":/usr/bin:/bin",
		"--env", "GOMODCACHE="+modules, "--env", "GOCACHE="+cache, "--env", "GOPROXY="+variable(t, "GOPROXY"), "--env", "GOTOOLCHAIN=local", container,
	)
	e.buildah(t, "commit", "--quiet", container, "docker.io/library/"+string(base[1]))
	e.buildah(t, "rm", container)
}

// variable is a setting of Go on this machine, which the build shares.
func variable(t *testing.T, name string) string {
	t.Helper()
	return output(t, exec.Command("go", "env", name))
}

// assertContents: there are three files and no more. It logs them with their sizes.
func (e engine) assertContents(t *testing.T) {
	t.Helper()
	container := e.buildah(t, "from", "--pull-never", image)
	directory := e.buildah(t, "mount", container)
	var files []string
	var size int64
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files, size = append(files, path[len(directory):]), size+info.Size()
		t.Logf("%11d %s %s", info.Size(), info.Mode(), path[len(directory):])
		assert.Zero(t, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|0o022), "%s: others may change it", path)
		return nil
	}))
	e.buildah(t, "umount", container)
	e.buildah(t, "rm", container)
	assert.ElementsMatch(t, []string{"/otelcol-pprof", "/etc/otelcol-pprof/config.yaml", certificates}, files)
	assert.Less(t, size, int64(maxSize))
	t.Logf("%11d in all", size)
}
