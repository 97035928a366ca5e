// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/internal/printable"
)

// The values of the attribute outcome, as in metadata.yaml.
const (
	outcomeSent     = "sent"
	outcomeRejected = "rejected"
	outcomeRetry    = "retry"
)

const (
	// maxAnswer is the maximum number of bytes that are read of an answer, so that its connection can be used again.
	// maxAnswerText is the maximum number of bytes of it in an error.
	maxAnswer     = 64 << 10
	maxAnswerText = 300
	maxRetryAfter = time.Hour
	// retryAfterPart: a wait is at most one part in retryAfterPart of the time for all attempts, see longestWait.
	retryAfterPart = 4
)

// statusError is an answer with a status other than 2xx.
type statusError struct {
	Code         int
	Status, Text string
}

func (e *statusError) Error() string {
	if e.Text == "" {
		return "the destination answered " + e.Status
	}
	return fmt.Sprintf("the destination answered %s: %s", e.Status, e.Text)
}

// longestWait returns the longest wait before the next attempt. Exporterhelper drops a request at once, without a wait, if the wait would
// end after max_elapsed_time. It does not tell how much of that time is left. So a wait is short enough for several attempts: a
// backend that recovers within three quarters of the time gets the request, whatever it asked for.
func longestWait(cfg configretry.BackOffConfig) time.Duration {
	if cfg.MaxElapsedTime > 0 {
		return min(maxRetryAfter, cfg.MaxElapsedTime/retryAfterPart)
	}
	return maxRetryAfter
}

// exchange sends a request and reads the answer. It asks for a retry after at most longest.
func exchange(client *http.Client, request *http.Request, longest time.Duration) (outcome string, err error) {
	response, err := client.Do(request)
	if err != nil {
		return outcomeRetry, fmt.Errorf("cannot send profiles: %w", httpclient.WithoutURL(err)) // It reaches logs and senders.
	}
	defer response.Body.Close()
	text, readErr := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	code := response.StatusCode
	if code >= 200 && code < 300 {
		// The backend accepted the profiles before it sent the status. An error in the body changes nothing.
		return outcomeSent, nil
	}
	status := &statusError{Code: code, Status: printable.Line(response.Status, maxAnswerText), Text: printable.Line(strings.TrimSpace(string(text)), maxAnswerText)}
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		err = errors.Join(status, readErr)
		if wait := retryAfter(response.Header.Get("Retry-After"), time.Now(), longest); wait > 0 {
			err = exporterhelper.NewThrottleRetry(err, wait)
		}
		return outcomeRetry, err
	}
	return outcomeRejected, status
}

// retryAfter reads a number of seconds or a date, and returns at most longest. It returns 0 for any other text.
func retryAfter(text string, now time.Time, longest time.Duration) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longest)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longest)
	}
	return 0
}

// headerValue returns text that is safe in a header: it replaces every character outside of printable ASCII.
func headerValue(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, text))
}
