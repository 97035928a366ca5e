// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/gateway"
)

const (
	// patience is how long a gateway may take to end, or to work on what it has.
	patience = time.Minute
	// A gateway is idle when it takes less than idleTime of a processor in idleFor, which is longer than a batch waits.
	idleFor  = 400 * time.Millisecond
	idleTime = 5 * time.Millisecond
)

// gateways are processes of the built distribution, one for each output, and the destination of all.
type gateways struct {
	destination *http.Server
	directory   string
	running     map[string]*gateway.Gateway // by name of the output
	addresses   map[string][]string         // those of its receivers
}

// startGateways starts a process for each output. The caller must stop them, also after an error.
func startGateways(ctx context.Context, binary string) (g *gateways, err error) {
	g = &gateways{running: map[string]*gateway.Gateway{}, addresses: map[string][]string{}}
	if g.directory, err = os.MkdirTemp("", "speed"); err != nil {
		return g, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return g, err
	}
	g.destination = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(accept)}
	go func() { _ = g.destination.Serve(listener) }()
	for i, o := range outputs {
		directory := filepath.Join(g.directory, strconv.Itoa(i))
		if err := os.Mkdir(directory, 0o700); err != nil {
			return g, err
		}
		addresses, err := gateway.FreeAddresses(ctx, 4)
		if err != nil {
			return g, err
		}
		values := append(slices.Clone(addresses), listener.Addr().String(), directory)
		g.addresses[o.name] = addresses
		g.running[o.name], err = gateway.Start(ctx, gateway.Options{
			Binary: binary, HealthURL: "http://" + addresses[3], Directory: directory,
			Configs: []string{fillIn(gatewayConfig, values), "yaml:" + fillIn(o.pipeline, values)},
		})
		if err != nil {
			return g, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return g, nil
}

// accept takes a message without a look at it.
func accept(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// stop ends all of them.
func (g *gateways) stop() (err error) {
	for _, running := range g.running {
		if running != nil {
			err = errors.Join(err, running.Stop(patience))
		}
	}
	if g.destination != nil {
		err = errors.Join(err, g.destination.Close())
	}
	return errors.Join(err, os.RemoveAll(g.directory))
}

// idleCPUTime waits until a gateway has worked on what it has, and returns its CPU time.
func (g *gateways) idleCPUTime(o output) (time.Duration, error) {
	pid := g.running[o.name].PID()
	before, err := gateway.CPUTime(pid)
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
		time.Sleep(idleFor)
		var after time.Duration
		if after, err = gateway.CPUTime(pid); after-before < idleTime {
			return before, err
		}
		before = after
	}
	return 0, errors.Join(err, fmt.Errorf("%s: it is not idle within %s", o.name, patience))
}

// fillIn puts values in the verbs of a configuration, which need not have all.
func fillIn(config string, values []string) string {
	for i, value := range values {
		config = strings.ReplaceAll(config, fmt.Sprintf("%%[%d]s", i+1), value)
	}
	return config
}
