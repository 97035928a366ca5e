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

const (
	// maxNamedTargets is how many failing targets the error of a status names.
	maxNamedTargets = 5
	// maxListedTargets is how many targets the attributes of a status have. Where there are more, they have failing ones only.
	maxListedTargets = 100
)

// health reports the component status: the targets that work, and those that fail.
type health struct {
	host component.Host
	log  *zap.Logger

	mu     sync.Mutex
	states map[string]error
	// failing are those of the states that are errors.
	failing map[string]error
}

func newHealth(host component.Host, log *zap.Logger) *health {
	return &health{host: host, log: log, states: map[string]error{}, failing: map[string]error{}}
}

// set sets the state of a target. It reports and logs only changes.
func (h *health) set(target string, err error) {
	if classOf(err) == profilerBusy {
		// Another profiler is running. The next round tries again.
		h.log.Debug("Skipped a CPU profile", zap.Error(err))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before, known := h.states[target]
	h.states[target] = err
	delete(h.failing, target)
	if err != nil {
		h.failing[target] = err
	}
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
	h.report(err != nil || before != nil)
}

// forget removes a target that is gone.
func (h *health) forget(target string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, known := h.states[target]
	if !known {
		return
	}
	delete(h.states, target)
	delete(h.failing, target)
	h.report(before != nil)
}

// report reports the status, with the states of all targets, or of some that fail if there are many. fails says that the target that
// changed fails or has failed.
func (h *health) report(fails bool) {
	listed := h.states
	if len(listed) > maxListedTargets {
		if !fails {
			return
		}
		listed = map[string]error{}
		for target, err := range h.failing {
			if len(listed) == maxListedTargets {
				break
			}
			listed[target] = err
		}
	}
	attributes := pcommon.NewMap()
	var named []error
	for _, target := range slices.Sorted(maps.Keys(listed)) {
		err := listed[target]
		if err == nil {
			attributes.PutStr(target, outcomeOK)
			continue
		}
		attributes.PutStr(target, err.Error())
		if len(named) < maxNamedTargets {
			named = append(named, fmt.Errorf("%s: %w", target, err))
		}
	}
	options := []componentstatus.EventBuilderOption{componentstatus.WithAttributes(attributes)}
	status := componentstatus.StatusOK
	if len(h.failing) > 0 {
		status = componentstatus.StatusRecoverableError
		if rest := len(h.failing) - len(named); rest > 0 {
			named = append(named, fmt.Errorf("and %d more", rest))
		}
		options = append(options, componentstatus.WithError(errors.Join(named...)))
	}
	componentstatus.ReportStatus(h.host, componentstatus.NewEvent(status, options...))
}

// The outcomes of a fetch, in addition to the reasons of errors.
const (
	outcomeOK       = "ok"
	outcomeBaseline = "baseline"
)

// outcomeOf returns the outcome that an error stands for.
func outcomeOf(err error) string {
	if err == nil {
		return outcomeOK
	}
	return classOf(err).reason
}
