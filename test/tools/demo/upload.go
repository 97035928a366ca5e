// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

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
