// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// uploadAll uploads each profile with its own service name, and checks the resulting file.
func uploadAll(ctx context.Context, address, directory string) error {
	for _, name := range []string{"cpu", "heap", "goroutine"} {
		uploaded, err := os.ReadFile(filepath.Join("testdata", "pprof", name+".pb.gz"))
		if err != nil {
			return fmt.Errorf("cannot read the profile to upload: %w", err)
		}
		service := "demo-" + name
		if err := upload(ctx, address, service, uploaded); err != nil {
			return err
		}
		path, err := waitForFile(ctx, filepath.Join(directory, service))
		if err != nil {
			return err
		}
		written, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("cannot read the file of the gateway: %w", err)
		}
		if err := same(uploaded, written); err != nil {
			return fmt.Errorf("%s differs from the upload: %w", path, err)
		}
		relative, err := filepath.Rel(directory, path)
		if err != nil {
			return fmt.Errorf("cannot name the file: %w", err)
		}
		fmt.Printf("%-9s uploaded %7d bytes, wrote %7d bytes: %s\n", name, len(uploaded), len(written), relative)
	}
	return nil
}

// same returns an error unless two profiles have the same content.
func same(uploaded, written []byte) error {
	before, err := profile.ParseData(uploaded)
	if err != nil {
		return fmt.Errorf("cannot read the upload: %w", err)
	}
	after, err := profile.ParseData(written)
	if err != nil {
		return fmt.Errorf("cannot read the file: %w", err)
	}
	if difference := profiletest.DiffPprof(before, after); difference != "" {
		return fmt.Errorf("the profiles differ:\n%s", difference)
	}
	return nil
}

func upload(ctx context.Context, address, service string, payload []byte) error {
	target := "http://" + address + "/v1/pprof?service.name=" + url.QueryEscape(service)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("cannot make the upload: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("cannot upload: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("cannot read the answer to the upload: %w", err)
	}
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("cannot upload: the gateway answers %s: %s", response.Status, answer)
	}
	return nil
}

// waitForFile returns the first complete file below directory.
func waitForFile(ctx context.Context, directory string) (string, error) {
	files, err := waitForFiles(ctx, directory, 1)
	if err != nil {
		return "", err
	}
	return files[0], nil
}

// waitForFiles returns the complete files below directory once there are n. The exporter renames a file when it is
// complete.
func waitForFiles(ctx context.Context, directory string, n int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		files, err := filepath.Glob(filepath.Join(directory, "*", "*.pb.gz"))
		if err != nil {
			return nil, fmt.Errorf("cannot look for files: %w", err)
		}
		if len(files) >= n {
			return files, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot find %d files below %s: %w", n, directory, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// recordings are requests of testdata/splunk, the resulting files, and a function that the files must contain.
var recordings = []struct {
	agent, path, service string
	files                int
	function             string
}{
	{"Java", "splunk-otel-java/pprof-v2-cpu.pb", "orders", 1, "Gen.spin"},
	{"Node.js", "splunk-otel-js/v4.7.2-default-cpu-http.pb", "splunk-js-default", 1, "fib"},
	{"Python", "splunk-otel-python/cpu-continuous.pb", "splunk-python-fixture", 3, "<genexpr>"},
	{".NET", "splunk-otel-dotnet/pprof-cpu.pb", "Acme.Orders", 1, "System.Threading.Monitor.Wait(System.Object, System.Int32)"},
}

func showSplunk(ctx context.Context, binary string) (err error) {
	directory, err := os.MkdirTemp("", "otelpprof-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()

	addresses, err := gateway.FreeAddresses(ctx, 5)
	if err != nil {
		return err
	}
	_, metricsPort, _ := net.SplitHostPort(addresses[4])
	process, err := gateway.Start(ctx, gateway.Options{
		Binary: binary,
		Configs: []string{
			"config/splunk.yaml",
			"yaml:exporters::pprof::file::directory: " + directory,
			"yaml:receivers::splunk_log_profile::protocols::grpc::endpoint: " + addresses[0],
			"yaml:receivers::splunk_log_profile::protocols::http::endpoint: " + addresses[1],
			"yaml:exporters::profile_view::endpoint: " + addresses[2],
			"yaml:extensions::health_check::endpoint: " + addresses[3],
			"yaml:service::telemetry::metrics::readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: " + metricsPort + "}}}}]",
		},
		HealthURL: "http://" + addresses[3],
	})
	if err != nil {
		return err
	}
	fmt.Printf("The gateway runs as process %d and accepts OTLP at http://%s\n", process.PID(), addresses[1])
	defer func() { err = errors.Join(err, process.Stop(20*time.Second)) }()

	for _, r := range recordings {
		request, err := os.ReadFile(filepath.Join("testdata", "splunk", filepath.FromSlash(r.path)))
		if err != nil {
			return fmt.Errorf("cannot read the request to send: %w", err)
		}
		fmt.Printf("\n== %s: %s, %d bytes\n", r.agent, r.path, len(request))
		if err := postLogs(ctx, addresses[1], request); err != nil {
			return fmt.Errorf("%w\nThe log of the gateway:\n%s", err, process.Log())
		}
		files, err := waitForFiles(ctx, filepath.Join(directory, r.service), r.files)
		if err != nil {
			return err
		}
		shown, err := top(ctx, 6, files...)
		if err != nil {
			return err
		}
		if !strings.Contains(shown, r.function) {
			return fmt.Errorf("cannot find the function %s in the file", r.function)
		}
	}
	return nil
}

// postLogs sends a request like an agent.
func postLogs(ctx context.Context, address string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/logs", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("cannot send the request: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot send the request: the gateway answers %s: %s", response.Status, answer)
	}
	return nil
}
