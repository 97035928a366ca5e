// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// hostileTargets is how many of the targets that are scraped answer with what is hostile. One more is honest.
const hostileTargets = 8

// scrapeSettings make rounds short.
const scrapeSettings = "yaml:receivers::pprof::scrape: {collection_interval: 1s, profiles: [goroutine]}"

// targets are programs that are scraped.
type targets struct {
	hostile, honest, elsewhere string
	// answer is what hostile targets answer, and asked counts how often they did.
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
	// strayed counts requests to where a redirect led.
	strayed atomic.Int64
}

func startTargets(t *testing.T, address string) *targets {
	t.Helper()
	free := must.Get(gateway.FreeAddresses(t.Context(), 2))(t)
	s := &targets{hostile: address, honest: free[0], elsewhere: free[1]}
	parsed := must.Get(profile.ParseData(captured(t, "pprof", "goroutine.pb.gz")))(t)
	good := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := parsed.Copy()
		now.TimeNanos = time.Now().UnixNano()
		_ = now.Write(w)
	})
	s.answer.Store(&good)
	serve(t, s.honest, good)
	serve(t, s.elsewhere, func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) })
	serve(t, s.hostile, func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.answer.Load())(w, r)
	})
	return s
}

// serve listens until the test ends.
func serve(t *testing.T, address string, handler http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: handler}
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", address))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
}

// settings names the targets. With discovery, the hostile one names further targets.
func (s *targets) settings(discovery bool) string {
	if discovery {
		return fmt.Sprintf("yaml:{receivers: {pprof: {scrape: {targets: [{endpoint: 'http://%s', labels: {service.name: honest}}]}}}, "+
			"extensions: {target_discovery: {http_sd_configs: [{url: 'http://%s', refresh_interval: 2s}]}}}", s.honest, s.hostile)
	}
	all := []string{fmt.Sprintf("{endpoint: 'http://%s', labels: {service.name: honest}}", s.honest)}
	for i := range hostileTargets {
		all = append(all, fmt.Sprintf("{endpoint: 'http://%s/%[2]d', labels: {service.name: hostile%[2]d}}", s.hostile, i))
	}
	return "yaml:receivers::pprof::scrape::targets: [" + strings.Join(all, ", ") + "]"
}

// honestFiles is an attempt that succeeds when there is another file of the honest target.
func (s *targets) honestFiles(directory string) func(context.Context) error {
	seen := 0
	return func(context.Context) error {
		files, err := filepath.Glob(filepath.Join(directory, "profiles", "honest", "*", "*.pb.gz"))
		if err != nil {
			return err
		}
		if len(files) <= seen {
			return fmt.Errorf("no other file than the %d before", seen)
		}
		seen = len(files)
		return nil
	}
}

// answering is an attack by the answers of targets, until each has been asked again.
func answering(answer func(s *targets) http.HandlerFunc) attack {
	return func(ctx context.Context, p *process, _ []byte, times int) *tally {
		var answers tally
		before := p.targets.answer.Load()
		defer p.targets.answer.Store(before)
		handler := answer(p.targets)
		p.targets.answer.Store(&handler)
		until := p.targets.asked.Load() + int64(2*times)
		within, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		for p.targets.asked.Load() < until && p.running.Running() && within.Err() == nil {
			sleep(within)
		}
		answers.add("200", "") // what it makes of the answers, it tells nobody
		if n := p.targets.strayed.Load(); n > 0 {
			answers.fault("%d requests to another port", n)
		}
		return &answers
	}
}

// scrapedBodies are what targets answer.
func scrapedBodies() []body {
	answered := func(name string, wire func() []byte) body {
		return body{name: name, to: scraped, only: "scrape", times: hostileTargets, wire: wire, attack: answering(func(*targets) http.HandlerFunc {
			content := wire()
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }
		})}
	}
	return []body{
		answered("scraped-empty-mappings", func() []byte { return gzipped(emptyMappings()) }),
		answered("scraped-empty-locations", func() []byte {
			return gzipped(join(head(), onlySample(), filling(empty(pprofLocation), inflatedBytes)))
		}),
		answered("scraped-valid-63-mib", func() []byte { return gzipped(validProfile(950_000)) }),
		answered("scraped-gzip-bomb", func() []byte { return gzipped(repeat(make([]byte, 1024), 1<<20)) }),
		{name: "scraped-endless", to: scraped, only: "scrape", times: hostileTargets, attack: answering(func(*targets) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				for chunk := repeat([]byte{0x1a, 0}, 32<<10).plain(); ; {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}
		})},
		{name: "scraped-redirect-to-another-port", to: scraped, only: "scrape", times: hostileTargets, attack: answering(func(s *targets) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://"+s.elsewhere+"/", http.StatusTemporaryRedirect)
			}
		})},
	}
}
