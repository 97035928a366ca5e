// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/internal/printable"
)

const (
	// checkInterval is the time between checks for failures that are not logged.
	checkInterval = 2 * time.Second
	// watchFailing is how long requests to the API of Kubernetes count as failing after a failure, since no event
	// reports that they work again. client-go repeats them after a minute at most.
	watchFailing = 90 * time.Second
)

// maxLogged is how much of a value the logs and errors have: a server can redirect to a URL of megabytes, or answer with one.
const maxLogged = 1000

// refreshFailed is what Prometheus logs after a refresh that was counted as failed.
const refreshFailed = "Unable to refresh target groups"

// health is the health of a source. Prometheus reports it only in logs and metrics.
type health struct {
	owner *targetDiscovery
	name  string
	count metric.MeasurementOption

	// expiry is how long a failure counts if a success can go unseen. 0 means until a success.
	expiry time.Duration

	mu sync.Mutex
	// failing are the errors by file, or under "".
	failing map[string]failure
	// failed says that something failed since the last refresh.
	failed bool
	// watchFailures are those that are known, lastFailure is when the last of them was seen.
	watchFailures int
	lastFailure   time.Time
}

type failure struct {
	err error
	at  time.Time
}

func newHealth(owner *targetDiscovery, one mechanism) *health {
	h := &health{
		owner: owner, name: one.name, failing: map[string]failure{},
		count: metric.WithAttributes(attribute.String("mechanism", one.config.Name())),
	}
	switch config := one.config.(type) {
	case *kubernetes.SDConfig:
		h.expiry = watchFailing
	case *file.SDConfig:
		// A file that was removed, or has no targets any more, sends nothing. A busy machine can delay the next refresh.
		h.expiry = max(2*time.Duration(config.RefreshInterval), 2*checkInterval)
	}
	return h
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(h.failing)) {
		errs = append(errs, h.failing[key].err)
	}
	return errors.Join(errs...)
}

// counted counts failures.
func (h *health) counted(ctx context.Context, failures int) {
	h.owner.telemetry.ExtensionTargetDiscoveryFailures.Add(ctx, int64(failures), h.count)
}

// fails sets an error. The targets stay as they are.
func (h *health) fails(key string, err error) {
	h.mu.Lock()
	before, known := h.failing[key]
	h.failing[key] = failure{err: err, at: time.Now()}
	h.mu.Unlock()
	if known && before.err.Error() == err.Error() {
		return
	}
	if !known {
		h.owner.set.Logger.Warn("Cannot discover targets, the last known ones stay", zap.String("source", h.name), zap.Error(err))
	}
	h.owner.reportStatus()
}

// works removes an error.
func (h *health) works(key string) {
	h.mu.Lock()
	_, known := h.failing[key]
	delete(h.failing, key)
	h.mu.Unlock()
	if known {
		h.owner.set.Logger.Info("Discovering targets again", zap.String("source", h.name))
		h.owner.reportStatus()
	}
}

// expire removes errors that were not repeated.
func (h *health) expire() {
	h.mu.Lock()
	var expired []string
	for key, one := range h.failing {
		if h.expiry > 0 && time.Since(one.at) > h.expiry {
			expired = append(expired, key)
		}
	}
	h.mu.Unlock()
	for _, key := range expired {
		h.works(key)
	}
}

// watched compares the failures that client-go has counted with those that are known. One alone is no failure: a watch ends
// with an error now and then, and begins again.
func (h *health) watched(ctx context.Context, failures int) {
	h.mu.Lock()
	more := failures - h.watchFailures
	h.watchFailures = failures
	repeated := more > 1 || time.Since(h.lastFailure) < watchFailing
	if more > 0 {
		h.lastFailure = time.Now()
	}
	h.mu.Unlock()
	if more == 0 {
		return
	}
	h.counted(ctx, more)
	if repeated {
		h.fails("", errors.New("requests to the API of Kubernetes fail, the log of client-go has the reason: "+
			"the service account needs the verbs list and watch for the resources of the role and of attach_metadata"))
	}
}

// Instantiate implements [promdiscovery.RefreshMetricsInstantiator]: the metrics of refreshes tell whether one has worked.
func (h *health) Instantiate(_, _ string) *promdiscovery.RefreshMetrics {
	return &promdiscovery.RefreshMetrics{
		Failures: failureCounter{
			Counter: prometheus.NewCounter(prometheus.CounterOpts{Name: "failures"}),
			inc:     func() { h.setFailed(true) },
		},
		Duration: prometheus.ObserverFunc(func(float64) {
			if !h.setFailed(false) && !h.owner.stopped.Load() {
				h.works("")
			}
		}),
		DurationHistogram: prometheus.ObserverFunc(func(float64) {}),
	}
}

// setFailed returns what it was before.
func (h *health) setFailed(failed bool) (before bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, h.failed = h.failed, failed
	return before
}

// failureCounter is a counter that tells when it is increased.
type failureCounter struct {
	prometheus.Counter
	inc func()
}

func (c failureCounter) Inc() { c.inc() }

// logHandler takes the log records of a discoverer: errors are failures, the rest is for debugging.
type logHandler struct {
	health *health
	attrs  []slog.Attr
}

func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (l *logHandler) WithGroup(string) slog.Handler { return l }

func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{health: l.health, attrs: append(slices.Clone(l.attrs), attrs...)}
}

func (l *logHandler) Handle(ctx context.Context, record slog.Record) error {
	if l.health.owner.stopped.Load() { // a lookup that ended late
		return nil
	}
	path, shown, text := "", "", record.Message
	fields := []zap.Field{zap.String("source", l.health.name)}
	record.AddAttrs(l.attrs...)
	record.Attrs(func(a slog.Attr) bool {
		value := printable.Line(a.Value.String(), maxLogged)
		switch a.Key {
		case "err":
			text += ": " + value
		case "path":
			path, shown = a.Value.String(), value
		}
		fields = append(fields, zap.String(a.Key, value))
		return true
	})
	l.health.owner.set.Logger.Debug(record.Message, fields...)
	if record.Level < slog.LevelError {
		return nil
	}
	if record.Message != refreshFailed {
		l.health.setFailed(true)
	}
	text = strings.ToLower(text[:1]) + text[1:]
	if path != "" {
		text = shown + ": " + text
	}
	l.health.counted(ctx, 1)
	l.health.fails(path, errors.New(text))
	return nil
}
