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
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

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

// maxAnswer limits how much of an answer is read.
const maxAnswer = 16 << 20

// showServed requests the list of profiles, an image of the CPU profile, and the profile, which must equal the
// upload.
func showServed(ctx context.Context, address string) error {
	list, err := waitForList(ctx, address, "demo-cpu")
	if err != nil {
		return err
	}
	page, err := fetch(ctx, "http://"+address+"/download/svg?type=process_cpu:cpu:nanoseconds:cpu:nanoseconds&query="+url.QueryEscape(`{service_name="demo-cpu"}`))
	if err != nil {
		return err
	}
	served, err := fetch(ctx, "http://"+address+"/profiles/demo-cpu/cpu?window=1h")
	if err != nil {
		return err
	}
	uploaded, err := os.ReadFile(filepath.Join("testdata", "pprof", "cpu.pb.gz"))
	if err != nil {
		return fmt.Errorf("cannot read the upload: %w", err)
	}
	if err := same(uploaded, served); err != nil {
		return fmt.Errorf("the served profile differs from the upload: %w", err)
	}
	p, err := profile.ParseData(served)
	if err != nil {
		return fmt.Errorf("cannot read the served profile: %w", err)
	}
	fmt.Printf("served    list of %d bytes, image of %d bytes, profile of %d bytes with %d samples\n", len(list), len(page), len(served), len(p.Sample))
	return nil
}

// waitForList returns the list once it has a service. The exporter has its own queue.
func waitForList(ctx context.Context, address, service string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		list, err := fetch(ctx, "http://"+address+"/profiles")
		if err != nil || bytes.Contains(list, []byte(service)) {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot find the service %s in the list: %w", service, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// fetch returns an answer. Its status must be 200.
func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s: %w", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot fetch %s: %s: %.300s", url, response.Status, body)
	}
	return body, nil
}
