// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// source is one entry of the configuration: a discoverer of Prometheus, and the targets that it has sent.
type source struct {
	mechanism
	owner    *targetDiscovery
	health   *health
	registry *prometheus.Registry

	mu sync.Mutex
	// groups are the last known targets of each group.
	groups map[string]group
	// held is the number of targets of all groups.
	held int
	// firstInvalid is the reason for the first invalid target of the last change that had one.
	firstInvalid error
}

// group is what the rules made of a group of targets.
type group struct {
	targets                     map[string]*discovery.Target
	dropped, invalid, overLimit int
	firstInvalid                error
}

// start starts the discoverer.
func (s *source) start(ctx context.Context) error {
	metrics := s.config.NewDiscovererMetrics(s.registry, s.health)
	if err := metrics.Register(); err != nil {
		return err
	}
	discoverer, err := s.discoverer(metrics)
	if err != nil {
		return err
	}
	groups := make(chan []*targetgroup.Group)
	if _, looksUp := s.config.(*dns.SDConfig); looksUp {
		go discoverer.Run(ctx, groups) // not waited for: a lookup without an answer takes seconds, and does not end with ctx
	} else {
		s.owner.running.Go(func() { repeat(ctx, func() { discoverer.Run(ctx, groups) }) })
	}
	s.owner.running.Go(func() { s.receive(ctx, groups) })
	return nil
}

// repeat calls run until ctx ends. That of files returns if the system has no watcher left.
func repeat(ctx context.Context, run func()) {
	for ctx.Err() == nil {
		run()
		select {
		case <-ctx.Done():
		case <-time.After(checkInterval):
		}
	}
}

// discoverer returns that of Prometheus, except for HTTP.
func (s *source) discoverer(metrics promdiscovery.DiscovererMetrics) (promdiscovery.Discoverer, error) {
	log := slog.New(&logHandler{health: s.health})
	if cfg, asks := s.config.(*http.SDConfig); asks {
		return newHTTPDiscovery(cfg, s.owner.cfg.MaxResponseSize, log, s.health)
	}
	return s.config.NewDiscoverer(promdiscovery.DiscovererOptions{Logger: log, Metrics: metrics, SetName: s.name})
}

// receive takes what the discoverer sends.
func (s *source) receive(ctx context.Context, groups <-chan []*targetgroup.Group) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.health.watched(ctx, s.watchFailures())
			s.health.expire()
		case changed := <-groups:
			s.set(ctx, changed)
			s.owner.notify()
		}
	}
}

// set replaces groups, until ctx ends. Those without targets are removed.
func (s *source) set(ctx context.Context, changed []*targetgroup.Group) {
	known := s.owner.known()
	room := s.room(changed)
	var firstInvalid error
	for _, one := range changed {
		if one == nil {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if path, isFile := s.path(one); isFile {
			s.health.works("")
			s.health.works(path)
		}
		made := s.owner.apply(ctx, one, room, known)
		room -= len(made.targets)
		firstInvalid = cmp.Or(firstInvalid, made.firstInvalid)
		made.firstInvalid = nil // the source has one, since there can be millions of groups
		s.replace(one, made)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firstInvalid = cmp.Or(firstInvalid, s.firstInvalid)
}

// room returns how many targets the changed groups may have: what the other groups leave of twice max_targets. The double is for
// targets that two sources discover. What is left out comes with the next refresh. Kubernetes has none: it sends each object
// once, and client-go has it in memory anyway.
func (s *source) room(changed []*targetgroup.Group) int {
	if _, watches := s.config.(*kubernetes.SDConfig); watches {
		return math.MaxInt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := 2*s.owner.cfg.MaxTargets - s.held
	for _, one := range changed {
		if one != nil {
			room += len(s.groups[one.Source].targets)
		}
	}
	return room
}

// replace sets what was made of a group.
func (s *source) replace(of *targetgroup.Group, made group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += len(made.targets) - len(s.groups[of.Source].targets)
	if len(of.Targets) == 0 {
		delete(s.groups, of.Source)
	} else {
		s.groups[of.Source] = made
	}
}

// path returns the file that a group comes from.
func (s *source) path(of *targetgroup.Group) (path string, isFile bool) {
	if _, isFile = s.config.(*file.SDConfig); !isFile {
		return "", false
	}
	end := strings.LastIndexByte(of.Source, ':')
	if end < 0 {
		return "", false
	}
	return of.Source[:end], true
}

// collect adds the targets, and counts those that are left out.
func (s *source) collect(all map[string]*discovery.Target, into *counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.groups {
		for key, target := range one.targets {
			addFirst(all, key, target)
		}
		into.dropped += one.dropped
		into.invalid += one.invalid
		into.overLimit += one.overLimit
		if one.invalid > 0 {
			into.firstInvalid = cmp.Or(into.firstInvalid, s.firstInvalid)
		}
	}
}

// watchFailures returns how many requests to the API of Kubernetes have failed. client-go logs them by itself.
func (s *source) watchFailures() int {
	if _, watches := s.config.(*kubernetes.SDConfig); !watches {
		return 0
	}
	families, err := s.registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() == promdiscovery.KubernetesMetricsNamespace+"_failures_total" {
			return int(family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return 0
}

// key is the same for targets that are equal. It begins with the addresses, which give the targets their order. The rest is a
// hash: the labels of a group can have megabytes, and each of its targets has them.
func key(target *discovery.Target) string {
	var text strings.Builder
	write(&text, target.Address, target.Origin)
	hash := sha256.New()
	write(hash, target.Scheme, target.PathPrefix, target.Interval.String(), target.Timeout.String(), strconv.FormatBool(target.Listed))
	for _, values := range []map[string]string{target.Params, target.Attributes} {
		write(hash, strconv.Itoa(len(values)))
		for _, name := range slices.Sorted(maps.Keys(values)) {
			write(hash, name, values[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(target.Profiles)) {
		profile := target.Profiles[name]
		write(hash, name, strconv.FormatBool(profile.Skip), profile.Scheme, profile.Port, profile.Path)
	}
	text.Write(hash.Sum(nil))
	return text.String()
}

// write writes each value after its length, so that no two lists of values give the same bytes.
func write(to io.Writer, values ...string) {
	for _, value := range values {
		_, _ = io.WriteString(to, strconv.Itoa(len(value))+":")
		_, _ = io.WriteString(to, value)
	}
}
