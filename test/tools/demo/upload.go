// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

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
		target := "http://" + address + "/v1/pprof?service.name=" + url.QueryEscape(service)
		if _, err := send(ctx, http.MethodPost, target, uploaded); err != nil {
			return err
		}
		files, err := waitForFiles(ctx, filepath.Join(directory, service), 1)
		if err != nil {
			return err
		}
		path := files[0]
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

// waitForFiles returns the complete files below directory once there are n. The exporter renames a file when it is complete.
func waitForFiles(ctx context.Context, directory string, n int) (files []string, err error) {
	err = wait(ctx, fmt.Sprintf("%d files below %s", n, directory), func() (bool, error) {
		files, err = filepath.Glob(filepath.Join(directory, "*", "*.pb.gz"))
		return len(files) >= n, err
	})
	return files, err
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

func showSplunk(ctx context.Context, binary string) error {
	const protocols = "receivers::splunk_log_profile::protocols"
	places := []string{"extensions::health_check", protocols + "::http", protocols + "::grpc", "exporters::profile_view"}
	return run(ctx, binary, "config/splunk.yaml", places, func(directory string, addresses []string) error {
		fmt.Printf("It accepts OTLP at http://%s\n", addresses[1])
		for _, r := range recordings {
			request, err := os.ReadFile(filepath.Join("testdata", "splunk", filepath.FromSlash(r.path)))
			if err != nil {
				return fmt.Errorf("cannot read the request to send: %w", err)
			}
			fmt.Printf("\n== %s: %s, %d bytes\n", r.agent, r.path, len(request))
			if _, err := send(ctx, http.MethodPost, "http://"+addresses[1]+"/v1/logs", request); err != nil {
				return err
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
	})
}
