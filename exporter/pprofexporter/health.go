// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// health reports and logs the status of a destination when it changes. Safe for concurrent use.
type health struct {
	host   component.Host
	logger *zap.Logger

	mu     sync.Mutex
	status componentstatus.Status
	// final is true after PermanentError was reported: the Collector ignores every later status until a restart.
	final bool
}

func newHealth(host component.Host, logger *zap.Logger) *health {
	return &health{host: host, logger: logger, status: componentstatus.StatusOK}
}

// ok reports that a write succeeded.
func (h *health) ok() {
	if h.change(componentstatus.NewEvent(componentstatus.StatusOK)) {
		h.logger.Info("Profiles can be written again.")
	}
}

// failed reports that a write failed. permanent means that only an operator can fix the cause.
func (h *health) failed(err error, permanent bool) {
	event := componentstatus.NewRecoverableErrorEvent(err)
	if permanent {
		event = componentstatus.NewPermanentErrorEvent(err)
	}
	if h.change(event) {
		h.logger.Error("Profiles cannot be written. The exporter retries as retry_on_failure configures.", zap.Error(err))
	}
}

// rejected reports that a backend rejected a request. If the status is about the client or the URL, the backend will reject every
// request until an operator corrects the configuration.
func (h *health) rejected(err error) {
	status, found := errors.AsType[*statusError](err)
	if !found || !refusesAll[status.Code] {
		h.ok() // the backend can accept the next request
		return
	}
	h.change(componentstatus.NewRecoverableErrorEvent(err))
}

// refusesAll has the status codes that do not depend on the profiles of a request.
var refusesAll = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusNotFound: true, http.StatusMethodNotAllowed: true,
}

// change sets the status. It returns whether the status is a different one now.
func (h *health) change(event *componentstatus.Event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status == event.Status() {
		return false
	}
	h.status = event.Status()
	if !h.final {
		h.final = h.status == componentstatus.StatusPermanentError
		componentstatus.ReportStatus(h.host, event)
	}
	return true
}
