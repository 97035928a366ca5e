// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// servedWithin is how long an honest client may have to come again until it is served, without what the host takes.
	servedWithin = 5 * time.Second
	honestEvery  = 500 * time.Millisecond
	comeAgain    = 250 * time.Millisecond
)

// honest is a client of another tenant, which does the same again and again.
type honest struct {
	what    string
	attempt func(ctx context.Context) error

	stop context.CancelFunc
	// now begins the next round at once.
	now    chan struct{}
	ended  sync.WaitGroup
	mu     sync.Mutex
	begun  time.Time // of the last round that has ended
	slow   time.Duration
	faults []string
}

func startHonest(ctx context.Context, what string, attempt func(context.Context) error) *honest {
	ctx, cancel := context.WithCancel(ctx)
	h := &honest{what: what, attempt: attempt, stop: cancel, now: make(chan struct{}, 1)}
	h.ended.Go(func() {
		for ctx.Err() == nil {
			h.round(ctx)
			select {
			case <-ctx.Done():
			case <-h.now:
			case <-time.After(honestEvery):
			}
		}
	})
	return h
}

// round comes again until it is served.
func (h *honest) round(ctx context.Context) {
	begin := now()
	limit, cancel := context.WithTimeout(ctx, busyMachine*servedWithin)
	defer cancel()
	var last error
	for {
		err := h.attempt(limit)
		took := begin.granted()
		if ctx.Err() != nil {
			return
		}
		if took > servedWithin || limit.Err() != nil {
			h.end(begin, took, fmt.Sprintf("%s: not served within %s: %v", h.what, servedWithin, errors.Join(last, err)))
			return
		}
		if err == nil {
			h.end(begin, took, "")
			return
		}
		last = err
		select {
		case <-limit.Done():
		case <-time.After(comeAgain):
		}
	}
}

func (h *honest) end(begin moment, took time.Duration, fault string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = begin.time
	h.slow = max(h.slow, took)
	if fault != "" {
		h.faults = append(h.faults, fault)
	}
}

// take returns what went wrong since the last time, and how long the slowest round took.
func (h *honest) take() (faults []string, slowest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults, slowest = h.faults, h.slow
	h.faults, h.slow = nil, 0
	return faults, slowest
}

// wait waits until a round has ended that began later than now.
func (h *honest) wait(running func() bool) {
	from := time.Now()
	for running() && time.Since(from) < 2*busyMachine*servedWithin {
		h.mu.Lock()
		served := h.begun.After(from)
		h.mu.Unlock()
		if served {
			return
		}
		select {
		case h.now <- struct{}{}:
		default:
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *honest) close() {
	h.stop()
	h.ended.Wait()
}

// uploading posts a body as an upload of its own.
func uploading(client *http.Client, url string, headers []string, body []byte) func(context.Context) error {
	var number atomic.Int64
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf(url, number.Add(1)), bytes.NewReader(body))
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		return succeed(client, request)
	}
}

// exporting posts a message of OTLP.
func exporting(url string, headers []string, want string, message func() []byte) func(context.Context) error {
	headers = append(headers, tenantHeader, honestTenant)
	return func(ctx context.Context) error {
		status, text := request(ctx, url, headers, message())
		if status != want {
			return fmt.Errorf("%s: %.200s", status, text)
		}
		return nil
	}
}

// looking gets a page.
func looking(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		request.Header.Set(tenantHeader, honestTenant)
		return succeed(client, request)
	}
}

func succeed(client *http.Client, request *http.Request) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: %.200s", response.Status, text)
	}
	return err
}
