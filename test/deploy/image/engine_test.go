// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
