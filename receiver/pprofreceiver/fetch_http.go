// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/internal/printable"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

const (
	// maxQuoted is how much of a text an error quotes that is no profile.
	maxQuoted = 200
	// maxType is how much of a Content-Type an error has.
	maxType = 100
)

// get returns the answer of a URL, if it may be a profile. The memory keeps it. The error has an outcome, see [outcomeOf].
func (s *scrape) get(ctx context.Context, target string, m *requestMemory) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, failFetch(outcomeUnreachable, "%w", err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, failFetch(outcomeUnreachable, "%w", httpclient.WithoutURL(err))
	}
	defer response.Body.Close()
	limit := s.cfg.MaxResponseSize
	body, err := m.read(ctx, io.LimitReader(response.Body, limit+1), response.ContentLength)
	switch {
	case err != nil && classOf(err) != internalError:
		return nil, err
	case err != nil && !errors.Is(err, io.EOF):
		return nil, failFetch(outcomeUnreachable, "cannot read the answer: %w", err)
	case int64(len(body)) > limit:
		return nil, newRefusal(tooLarge, "the answer is larger than max_response_size, %d bytes", limit)
	case response.StatusCode != http.StatusOK:
		return nil, failFetch(outcomeBadAnswer, "status %d%s", response.StatusCode, quote(body))
	case len(body) == 0:
		return nil, failFetch(outcomeBadAnswer, "the answer is empty")
	}
	return body, checkContent(response.Header.Get("Content-Type"), body)
}

// checkContent refuses web pages and texts, which a wrong URL returns.
func checkContent(contentType string, body []byte) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = contentType
	}
	if !inflate.Plain(body) || !isPage(body) && !strings.HasPrefix(mediaType, "text/") {
		return nil
	}
	return failFetch(outcomeBadAnswer, "it is %s, not a profile%s (a parameter debug makes Go answer with text)",
		printable.Line(mediaType, maxType), quote(body))
}

// quote returns the first line of an answer for an error, or "" if it is not text.
func quote(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body[:min(len(body), maxQuoted)])), "\n")
	if line == "" || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == '\uFFFD' }) {
		return ""
	}
	return fmt.Sprintf(": %q", line)
}

// secondsOf returns for how long a URL asks the target to profile.
func secondsOf(target *url.URL) time.Duration {
	seconds, err := strconv.ParseFloat(target.Query().Get("seconds"), 64)
	if err != nil || seconds <= 0 || seconds > 86400 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// goProfiles are the names of the profiles of net/http/pprof, by the last part of their path. The content does not tell mutex and block
// profiles apart.
var goProfiles = map[string]string{
	"profile": profileCPU, profileHeap: profileHeap, profileAllocs: profileAllocs, profileGoroutine: profileGoroutine,
	profileMutex: profileMutex, profileBlock: profileBlock, profileThreads: profileThreads,
}
