// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"errors"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// health reports and logs how a destination is, when that changes. Safe for concurrent use.
type health struct {
	host   component.Host
	logger *zap.Logger

	mu     sync.Mutex
	status componentstatus.Status
	// final is set once PermanentError is reported: the Collector then takes no other status before a restart.
	final bool
}

func newHealth(host component.Host, logger *zap.Logger) *health {
	return &health{host: host, logger: logger, status: componentstatus.StatusOK}
}

// ok says that something was written.
func (h *health) ok() {
	if h.change(componentstatus.StatusOK, componentstatus.NewEvent(componentstatus.StatusOK)) {
		h.logger.Info("Profiles can be written again.")
	}
}

// failed says that something could not be written. It is permanent if only an operator can help.
func (h *health) failed(err error, permanent bool) {
	status, event := componentstatus.StatusRecoverableError, componentstatus.NewRecoverableErrorEvent(err)
	if permanent {
		status, event = componentstatus.StatusPermanentError, componentstatus.NewPermanentErrorEvent(err)
	}
	if h.change(status, event) {
		h.logger.Error("Profiles cannot be written. They are repeated as retry_on_failure says.", zap.Error(err))
	}
}

// rejected says that a destination answered, and did not take what it got. Where its answer is about the sender or the
// address, none will be taken until an operator helps.
func (h *health) rejected(err error) {
	status, found := errors.AsType[*statusError](err)
	if !found || !refusesAll[status.Code] {
		h.ok() // others of the next requests may please it
		return
	}
	h.change(componentstatus.StatusRecoverableError, componentstatus.NewRecoverableErrorEvent(err))
}

// refusesAll are the answers that no other profile would change.
var refusesAll = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusNotFound: true, http.StatusMethodNotAllowed: true,
}

// change tells whether the status is another one now.
func (h *health) change(status componentstatus.Status, event *componentstatus.Event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.status == status {
		return false
	}
	h.status = status
	if !h.final {
		h.final = status == componentstatus.StatusPermanentError
		componentstatus.ReportStatus(h.host, event)
	}
	return true
}
