// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

// overrides puts a configuration on addresses of its own.
const overrides = `yaml:
receivers:
  pprof: {server: {endpoint: %[1]s}}
  otlp: {protocols: {grpc: {endpoint: %[2]s}, http: {endpoint: %[3]s}}}
exporters:
  otlp_grpc: {endpoint: %[4]s}
extensions:
  health_check: {endpoint: %[5]s}
service:
  telemetry: {metrics: {level: none, readers: []}}
`

const (
	// patience is how long the gateway may take to end.
	patience = time.Minute
	// interval is the time between two looks at the memory, pause that before an upload is sent again.
	interval, pause = 20 * time.Millisecond, 50 * time.Millisecond
)

// measure starts the gateway, uploads the profile, and adds to r what that took.
func measure(ctx context.Context, o *options, r *row, profile []byte) (err error) {
	directory, err := os.MkdirTemp("", "memorytable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	addresses, err := gateway.FreeAddresses(ctx, 5)
	if err != nil {
		return err
	}
	destination := startDestination(addresses[3])
	defer destination.Close()
	paths := [2]string{o.binary, o.config}
	for i, path := range paths {
		if paths[i], err = filepath.Abs(path); err != nil {
			return err
		}
	}
	running, err := gateway.Start(ctx, gateway.Options{
		Binary: paths[0], Directory: directory, HealthURL: "http://" + addresses[4],
		Configs: []string{
			paths[1], fmt.Sprintf(overrides, addresses[0], addresses[1], addresses[2], addresses[3], addresses[4]),
		},
		Environment: []string{"GOMEMLIMIT=" + r.limit, "GOGC=" + r.target},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Stop(patience)) }()
	before, err := running.Process()
	if err != nil {
		return err
	}
	largest := watch(running)
	err = sendAll(o, "http://"+addresses[0]+"/v1/pprof?service.name=memory", profile)
	memory := largest()
	if err != nil {
		return err
	}
	after, err := running.Process()
	if err != nil {
		return err
	}
	r.cpu = append(r.cpu, (after.CPU-before.CPU)/time.Duration(o.uploads))
	r.memory = append(r.memory, memory)
	return nil
}

// watch looks at the memory until the returned function is called, which tells the most that was seen.
func watch(running *gateway.Gateway) (largest func() int64) {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			if p, err := running.Process(); err == nil {
				most = max(most, p.Anonymous)
			}
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(interval):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}

// sendAll sends the profile until it was accepted as often as the options say.
func sendAll(o *options, url string, profile []byte) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.senders}}
	defer client.CloseIdleConnections()
	failed := make([]error, o.senders)
	var all sync.WaitGroup
	for i := range o.senders {
		all.Go(func() {
			for n := i; n < o.uploads && failed[i] == nil; n += o.senders {
				failed[i] = send(client, url, profile)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// send sends the profile once, again and again while the gateway is busy.
func send(client *http.Client, url string, profile []byte) error {
	for {
		response, err := client.Post(url, "application/octet-stream", bytes.NewReader(profile))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		switch {
		case err != nil:
			return err
		case response.StatusCode/100 == 2:
			return nil
		case response.StatusCode != http.StatusServiceUnavailable && response.StatusCode != http.StatusTooManyRequests:
			return fmt.Errorf("status %d: %s", response.StatusCode, text)
		}
		time.Sleep(pause)
	}
}

// startDestination starts a server for gRPC that accepts each message without a look at it.
func startDestination(address string) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Addr: address, Protocols: protocols, ReadHeaderTimeout: patience,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			_, _ = io.Copy(io.Discard, request.Body)
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write(make([]byte, 5)) // an empty message
			w.Header().Set("Grpc-Status", "0")
		}),
	}
	go func() { _ = server.ListenAndServe() }()
	return server
}
