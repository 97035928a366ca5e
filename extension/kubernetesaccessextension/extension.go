// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetesaccessextension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/extension/kubernetesaccessextension/internal/metadata"
)

// The values of the attribute outcome.
const (
	outcomeAllowed     = "allowed"
	outcomeDenied      = "denied"
	outcomeUnreachable = "unreachable"
)

// access is the extension: it checks the permissions and reports the result.
type access struct {
	config    *Config
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	host      component.Host
	// last is the kind of the last result, see kindOf.
	last string

	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ extension.Extension = (*access)(nil)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return newAccess(cfg.(*Config), set.TelemetrySettings)
}

func newAccess(cfg *Config, set component.TelemetrySettings) (*access, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	return &access{config: cfg, logger: set.Logger, telemetry: builder, stop: func() {}}, nil
}

// Start begins the checks in the background. It does not wait for the API server: the Collector works without it.
func (a *access) Start(ctx context.Context, host component.Host) error {
	a.host = host
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	a.running.Go(func() { a.run(running) })
	return nil
}

// Shutdown stops the checks and waits until the last one has ended.
func (a *access) Shutdown(context.Context) error {
	a.stop()
	a.running.Wait()
	a.telemetry.Shutdown()
	return nil
}

func (a *access) run(ctx context.Context) {
	ticker := time.NewTicker(a.config.Interval)
	defer ticker.Stop()
	for {
		a.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check asks the API server once for each permission, and reports the result.
func (a *access) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	missing, err := a.config.missing(limited)
	if ctx.Err() != nil {
		return // The extension is shutting down.
	}
	outcome := outcomeAllowed
	switch {
	case err != nil:
		outcome = outcomeUnreachable
		err = fmt.Errorf("the API server does not say what this service account may do: %w", err)
	case len(missing) > 0:
		outcome = outcomeDenied
		err = denied(missing)
	}
	a.telemetry.ExtensionKubernetesAccessChecks.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
	if outcome != outcomeUnreachable {
		verbs := 0
		for _, permission := range missing {
			verbs += len(permission.Verbs)
		}
		a.telemetry.ExtensionKubernetesAccessMissingPermissions.Record(ctx, int64(verbs))
	}
	a.report(err)
}

// kindOf returns what distinguishes results for report: the text of an error. All errors of connections are of one kind, because
// their texts have a different port each time.
func kindOf(err error) string {
	if err == nil {
		return outcomeAllowed
	}
	var connection *net.OpError
	if errors.As(err, &connection) || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
		return "no connection"
	}
	return err.Error()
}

// report logs a result and reports it as the component status, if its kind differs from that of the last check.
func (a *access) report(err error) {
	now := kindOf(err)
	if now == a.last {
		return
	}
	a.last = now
	if err == nil {
		a.logger.Info("The service account of this pod has all permissions")
		componentstatus.ReportStatus(a.host, componentstatus.NewEvent(componentstatus.StatusOK))
		return
	}
	a.logger.Warn("Data may have no attributes of pods. Logged again when this changes.", zap.Error(err))
	componentstatus.ReportStatus(a.host, componentstatus.NewRecoverableErrorEvent(err))
}

// denied returns an error with the missing permissions and the rules to add.
func denied(missing []Permission) error {
	var what, rules []string
	for _, permission := range missing {
		resource, where, role := permission.Resource, "in all namespaces", "ClusterRole"
		if permission.APIGroup != "" {
			resource += "." + permission.APIGroup
		}
		if permission.Namespace != "" {
			where, role = "in the namespace "+permission.Namespace, "Role in "+permission.Namespace
		}
		what = append(what, fmt.Sprintf("%s %s %s", strings.Join(permission.Verbs, " and "), resource, where))
		rules = append(rules, fmt.Sprintf("{apiGroups: [%q], resources: [%s], verbs: [%s]} to its %s",
			permission.APIGroup, permission.Resource, strings.Join(permission.Verbs, ", "), role))
	}
	return fmt.Errorf("the service account of this pod may not %s: add the rule %s",
		strings.Join(what, ", nor "), strings.Join(rules, ", and "))
}
