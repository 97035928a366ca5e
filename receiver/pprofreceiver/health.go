// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"
)

// maxNamedTargets limits the failing targets in the error of a status. The attributes of the status have all targets.
const maxNamedTargets = 5

// health reports the component status: the targets that work, and those that fail.
type health struct {
	host component.Host
	log  *zap.Logger

	mu     sync.Mutex
	states map[string]error
}

func newHealth(host component.Host, log *zap.Logger) *health {
	return &health{host: host, log: log, states: map[string]error{}}
}

// set sets the state of a target. It reports and logs only changes.
func (h *health) set(target string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, known := h.states[target]
	h.states[target] = err
	switch {
	case err != nil && before == nil:
		h.log.Warn("Cannot fetch profiles", zap.String("target", target), zap.Error(err))
	case err != nil:
		h.log.Debug("Still cannot fetch profiles", zap.String("target", target), zap.Error(err))
	case before != nil:
		h.log.Info("Fetching profiles again", zap.String("target", target))
	}
	if known && (before == nil) == (err == nil) && outcomeOf(before) == outcomeOf(err) {
		return
	}
	h.report()
}

func (h *health) report() {
	attributes := pcommon.NewMap()
	var failing []error
	for _, target := range slices.Sorted(maps.Keys(h.states)) {
		if err := h.states[target]; err != nil {
			attributes.PutStr(target, err.Error())
			failing = append(failing, fmt.Errorf("%s: %w", target, err))
		} else {
			attributes.PutStr(target, outcomeOK)
		}
	}
	options := []componentstatus.EventBuilderOption{componentstatus.WithAttributes(attributes)}
	status := componentstatus.StatusOK
	if len(failing) > 0 {
		status = componentstatus.StatusRecoverableError
		named := slices.Clone(failing[:min(len(failing), maxNamedTargets)])
		if rest := len(failing) - len(named); rest > 0 {
			named = append(named, fmt.Errorf("and %d more", rest))
		}
		options = append(options, componentstatus.WithError(errors.Join(named...)))
	}
	componentstatus.ReportStatus(h.host, componentstatus.NewEvent(status, options...))
}
