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
)

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
