// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo is `make demo`: it starts the gateway with config/demo.yaml on free loopback ports, uploads a CPU, a heap
// and a goroutine profile, waits for the files, compares each with its upload, requests the pages, shows `go tool pprof
// -top` of one file, and stops the gateway. It exits with 0, or with an error that describes the difference.
//
// With -splunk it is `make demo-splunk`: it starts the gateway with config/splunk.yaml, sends requests that were recorded
// from Splunk's agents, and shows each file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// limit is the timeout of the whole demo. It takes about two seconds.
const limit = 2 * time.Minute

func main() {
	binary := flag.String("binary", "_build/otelcol-pprof", "the built distribution")
	splunk := flag.Bool("splunk", false, "show what Splunk's agents send")
	flag.Parse()
	run, ended := showUploads, "Each file has the uploaded profile."
	if *splunk {
		run, ended = showSplunk, "Each file has the profile of its agent."
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	err := run(ctx, *binary)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	fmt.Println("\n" + ended)
}

func showUploads(ctx context.Context, binary string) (err error) {
	directory, err := os.MkdirTemp("", "otelpprof-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()

	addresses, err := gateway.FreeAddresses(ctx, 5)
	if err != nil {
		return err
	}
	process, err := gateway.Start(ctx, gateway.Options{
		Binary:    binary,
		Configs:   append([]string{"config/demo.yaml"}, overrides(directory, addresses)...),
		HealthURL: "http://" + addresses[1],
	})
	if err != nil {
		return err
	}
	fmt.Printf("The gateway runs as process %d and accepts pprof at http://%s/v1/pprof\n", process.PID(), addresses[0])
	defer func() { err = errors.Join(err, process.Stop(20*time.Second)) }()

	if err := uploadAll(ctx, addresses[0], directory); err != nil {
		return fmt.Errorf("%w\nThe log of the gateway:\n%s", err, process.Log())
	}
	if err := showServed(ctx, addresses[4]); err != nil {
		return err
	}
	return showTop(ctx, directory)
}

// overrides replaces fixed places in config/demo.yaml: the directory of the files, and the addresses of the servers.
func overrides(directory string, addresses []string) []string {
	_, metricsPort, _ := net.SplitHostPort(addresses[3])
	return []string{
		"yaml:exporters::pprof::file::directory: " + directory,
		"yaml:receivers::pprof::server::endpoint: " + addresses[0],
		"yaml:exporters::profile_view::endpoint: " + addresses[4],
		"yaml:extensions::health_check::endpoint: " + addresses[1],
		"yaml:extensions::zpages::endpoint: " + addresses[2],
		"yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: " + metricsPort + "}}}}]",
	}
}

// showTop prints the functions of the CPU profile.
func showTop(ctx context.Context, directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "demo-cpu", "*", "*.pb.gz"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("cannot find the one CPU profile: %d files, %w", len(files), err)
	}
	_, err = top(ctx, 10, files...)
	return err
}

// top runs go tool pprof -top on files, prints the result and returns it.
func top(ctx context.Context, nodes int, files ...string) (string, error) {
	count := strconv.Itoa(nodes)
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	fmt.Printf("\n$ go tool pprof -top -nodecount %s %s\n", count, strings.Join(names, " "))
	command := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-top", "-nodecount", count}, files...)...)
	var text strings.Builder
	command.Stdout, command.Stderr = io.MultiWriter(os.Stdout, &text), os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("cannot show a profile: %w", err)
	}
	return text.String(), nil
}
