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
	show, ended := showUploads, "Each file has the uploaded profile."
	if *splunk {
		show, ended = showSplunk, "Each file has the profile of its agent."
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	err := show(ctx, *binary)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	fmt.Println("\n" + ended)
}

// run runs the gateway on free loopback ports while show sends to it. Its files are below a temporary directory. places are those in the
// configuration of the addresses, the first of which is that of health_check.
func run(ctx context.Context, binary, config string, places []string, show func(directory string, addresses []string) error) (err error) {
	directory, err := os.MkdirTemp("", "otelpprof-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()

	addresses, err := gateway.FreeAddresses(ctx, len(places)+1)
	if err != nil {
		return err
	}
	_, metricsPort, _ := net.SplitHostPort(addresses[len(places)])
	configs := []string{
		config,
		"yaml:exporters::pprof::file::directory: " + directory,
		"yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: " + metricsPort + "}}}}]",
	}
	for i, place := range places {
		configs = append(configs, "yaml:"+place+"::endpoint: "+addresses[i])
	}
	process, err := gateway.Start(ctx, gateway.Options{Binary: binary, Configs: configs, HealthURL: "http://" + addresses[0]})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Stop(20*time.Second)) }()
	fmt.Printf("The gateway runs as process %d\n", process.PID())
	if err := show(directory, addresses); err != nil {
		return fmt.Errorf("%w\nThe log of the gateway:\n%s", err, process.Log())
	}
	return nil
}

func showUploads(ctx context.Context, binary string) error {
	places := []string{"extensions::health_check", "receivers::pprof::server", "exporters::profile_view", "extensions::zpages"}
	return run(ctx, binary, "config/demo.yaml", places, func(directory string, addresses []string) error {
		fmt.Printf("It accepts pprof at http://%s/v1/pprof\n", addresses[1])
		if err := uploadAll(ctx, addresses[1], directory); err != nil {
			return err
		}
		if err := showServed(ctx, addresses[2]); err != nil {
			return err
		}
		return showTop(ctx, directory)
	})
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
	var list []byte
	err := wait(ctx, "the service demo-cpu in the list", func() (found bool, err error) {
		list, err = send(ctx, http.MethodGet, "http://"+address+"/profiles", nil)
		return bytes.Contains(list, []byte("demo-cpu")), err
	})
	if err != nil {
		return err
	}
	query := "type=process_cpu:cpu:nanoseconds:cpu:nanoseconds&query=" + url.QueryEscape(`{service_name="demo-cpu"}`)
	page, err := send(ctx, http.MethodGet, "http://"+address+"/download/svg?"+query, nil)
	if err != nil {
		return err
	}
	served, err := send(ctx, http.MethodGet, "http://"+address+"/profiles/demo-cpu/cpu?window=1h", nil)
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

// wait waits until something is there. The exporters have queues of their own.
func wait(ctx context.Context, what string, there func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		if found, err := there(); found || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot find %s: %w", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// send returns the answer to a request, which must be a success.
func send(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot send a request: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer of %s: %w", url, err)
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s is answered %s: %.300s", url, response.Status, answer)
	}
	return answer, nil
}
