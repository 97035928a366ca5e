// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway runs the built distribution as a process of its own, for the demo and the end-to-end tests: on free
// loopback ports, bounded in time, and ended by process id by who started it.
package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// featureGate lets the Collector carry profiles, which it does not by default.
const featureGate = "--feature-gates=service.profilesSupport"

// Options say what to run.
type Options struct {
	// Binary is the path of the distribution.
	Binary string
	// Configs are the values of --config, in order: paths, or "yaml:" and the text itself.
	Configs []string
	// HealthURL answers 200 once the pipelines run.
	HealthURL string
	// Directory is the working directory, "" for that of the caller.
	Directory string
	// Environment is added to that of the caller, each as "name=value".
	Environment []string
	// Gates are feature gates to enable besides that for profiles.
	Gates []string
}

// MetricsAt is the configuration of the Collector's own metrics at an address, with the names of its documentation.
func MetricsAt(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return "yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: " + port +
		", without_scope_info: true, without_type_suffix: true, without_units: true}}}}]"
}

// Gateway is a running process.
type Gateway struct {
	command *exec.Cmd
	log     *log
	// ended is closed when the process is gone; result may be read from then on.
	ended  chan struct{}
	result error
	// awaited is set when the caller ends the process or waits for its end.
	awaited atomic.Bool
}

// Start runs the binary and waits until it is healthy. The process is killed when ctx ends.
func Start(ctx context.Context, options Options) (*Gateway, error) {
	arguments := []string{strings.Join(append([]string{featureGate}, options.Gates...), ",")}
	for _, config := range options.Configs {
		arguments = append(arguments, "--config", config)
	}
	g := &Gateway{command: exec.CommandContext(ctx, options.Binary, arguments...), log: &log{}, ended: make(chan struct{})}
	g.command.Dir = options.Directory
	g.command.Env = append(g.command.Environ(), options.Environment...)
	g.command.Stdout, g.command.Stderr = g.log, g.log
	if err := g.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", options.Binary, err)
	}
	go func() {
		g.result = g.command.Wait()
		close(g.ended)
	}()
	if err := g.waitHealthy(ctx, options.HealthURL); err != nil {
		g.Kill()
		return nil, fmt.Errorf("cannot start the gateway: %w; it said:\n%s", err, g.Log())
	}
	// The Collector handles signals only a moment after its components have started.
	time.Sleep(handlesSignals)
	return g, nil
}

const handlesSignals = 100 * time.Millisecond

// PID is the process id.
func (g *Gateway) PID() int { return g.command.Process.Pid }

// Log is what the process has printed so far.
func (g *Gateway) Log() string { return g.log.String() }

// Running tells whether the process has not ended yet.
func (g *Gateway) Running() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

// Crashed returns an error if the process ended, and the caller neither ended it nor waited for its end.
func (g *Gateway) Crashed() error {
	if g.Running() || g.awaited.Load() {
		return nil
	}
	return errors.Join(errors.New("the gateway ended by itself"), g.result)
}

// Terminate asks the process to stop and returns at once; Wait tells how it went.
func (g *Gateway) Terminate() error {
	g.awaited.Store(true)
	if err := g.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("cannot stop the gateway: %w", err)
	}
	return nil
}

// Wait returns the process's result: nil when it exited with 0. A process that takes longer than limit is killed.
func (g *Gateway) Wait(limit time.Duration) error {
	g.awaited.Store(true)
	select {
	case <-g.ended:
	case <-time.After(limit):
		g.Kill()
		return fmt.Errorf("cannot stop the gateway within %s: killed", limit)
	}
	if g.result != nil {
		return fmt.Errorf("cannot stop the gateway cleanly: %w", g.result)
	}
	return nil
}

// Stop terminates the process and waits.
func (g *Gateway) Stop(limit time.Duration) error {
	if err := g.Terminate(); err != nil {
		return err
	}
	return g.Wait(limit)
}

// Kill ends the process without a chance to clean up and waits until it is gone.
func (g *Gateway) Kill() {
	g.awaited.Store(true)
	// An error means that it is gone already.
	_ = g.command.Process.Kill()
	<-g.ended
}

func (g *Gateway) waitHealthy(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if healthy(ctx, url) {
			return nil
		}
		select {
		case <-g.ended:
			return errors.Join(errors.New("it ended by itself"), g.result)
		case <-ctx.Done():
			return fmt.Errorf("it is not healthy at %s: %w", url, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, url string) bool {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// log keeps what the process prints while it is read.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Process is what the system says of the running gateway.
type Process struct {
	// Resident is the memory held now and Peak the most that was ever held, in bytes.
	Resident, Peak int64
	// Anonymous is the part of Resident that is not of files. It excludes the program itself and the mapped file of a queue,
	// which the system takes back when it needs memory.
	Anonymous int64
	// CPU is the processor time that it took so far.
	CPU time.Duration
	// Files is the number of open files and sockets.
	Files int
}

// Process reads /proc, so it works on Linux only.
func (g *Gateway) Process() (Process, error) {
	var p Process
	directory := fmt.Sprintf("/proc/%d", g.PID())
	status, err := os.ReadFile(directory + "/status")
	if err != nil {
		return p, fmt.Errorf("cannot read the memory of the gateway: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			p.Resident, err = kilobytes(value)
		case "RssAnon":
			p.Anonymous, err = kilobytes(value)
		case "VmHWM":
			p.Peak, err = kilobytes(value)
		}
		if err != nil {
			return p, err
		}
	}
	if p.CPU, err = CPUTime(g.PID()); err != nil {
		return p, err
	}
	files, err := os.ReadDir(directory + "/fd")
	if err != nil {
		return p, fmt.Errorf("cannot count the open files of the gateway: %w", err)
	}
	p.Files = len(files)
	return p, nil
}

// ticksPerSecond is the unit of times in /proc, which is the same on all systems that Go runs on.
const ticksPerSecond = 100

// CPUTime is the processor time that a process took so far, its own and that of the kernel for it. It reads utime and
// stime, the 14th and 15th field; the second one, in parentheses, may hold anything. Linux only.
func CPUTime(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("cannot read a processor time: %w", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("cannot read a processor time: %s has %d fields, it must have 15 at least", path, 2+len(fields))
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read a processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

func kilobytes(value string) (int64, error) {
	var n int64
	if _, err := fmt.Sscanf(value, "%d kB", &n); err != nil {
		return 0, fmt.Errorf("cannot read the amount of memory %q: %w", value, err)
	}
	return n << 10, nil
}
