// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

const (
	// defaultMaxResponseSize bounds an answer as the server bounds a request.
	defaultMaxResponseSize = 20 << 20
	// fetchTimeout is how long an answer may take, above the time for which it is asked to profile, where no timeout is
	// configured.
	fetchTimeout = 30 * time.Second
	// maxQuoted is how much of a text is told of that stands where a profile should be.
	maxQuoted = 200
)

// fetcher gets profiles by HTTP.
type fetcher struct {
	client *http.Client
	limit  int64
}

// get returns the answer of a URL, if it may be a profile. The memory keeps it. The error tells its outcome to
// [outcomeOf].
func (f *fetcher) get(ctx context.Context, target string, m *memory) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, failFetch(outcomeUnreachable, "%w", err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		// The text of the error begins with the URL.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, failFetch(outcomeUnreachable, "%w", err)
	}
	defer response.Body.Close()
	body, err := m.read(ctx, io.LimitReader(response.Body, f.limit+1), response.ContentLength)
	switch {
	case err != nil && classify(err) != classInternal:
		return nil, err
	case err != nil && !errors.Is(err, io.EOF):
		return nil, failFetch(outcomeUnreachable, "cannot read the answer: %w", err)
	case int64(len(body)) > f.limit:
		return nil, failFetch(outcomeTooLarge, "the answer is larger than max_response_size, %d bytes", f.limit)
	case response.StatusCode != http.StatusOK:
		return nil, failFetch(outcomeBadAnswer, "status %d%s", response.StatusCode, quote(body))
	case len(body) == 0:
		return nil, failFetch(outcomeBadAnswer, "the answer is empty")
	}
	return body, checkContent(response.Header.Get("Content-Type"), body)
}

// checkContent refuses pages for people: they are what one gets from a wrong URL.
func checkContent(contentType string, body []byte) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = contentType
	}
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 64)]))
	isPage := bytes.HasPrefix(start, []byte("<!doctype")) || bytes.HasPrefix(start, []byte("<html"))
	if !inflate.Plain(body) || !isPage && !strings.HasPrefix(mediaType, "text/") {
		return nil
	}
	return failFetch(outcomeBadAnswer, "it is %s, not a profile%s (a parameter debug makes Go answer with text)", mediaType, quote(body))
}

// quote returns the first line of an answer, if it is text.
func quote(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body[:min(len(body), maxQuoted)])), "\n")
	if line == "" || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == '\uFFFD' }) {
		return ""
	}
	return fmt.Sprintf(": %q", line)
}

// secondsOf returns how long a URL asks the target to profile.
func secondsOf(target *url.URL) time.Duration {
	seconds, err := strconv.ParseFloat(target.Query().Get("seconds"), 64)
	if err != nil || seconds <= 0 || seconds > 86400 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// goProfiles are the names of what Go serves below /debug/pprof, by the last part of their path.
var goProfiles = map[string]string{
	"profile": profileCPU, profileHeap: profileHeap, profileAllocs: profileAllocs, profileGoroutine: profileGoroutine,
	profileMutex: profileMutex, profileBlock: profileBlock, profileThreads: profileThreads,
}

// The kinds of profiles that Go knows.
const (
	profileCPU       = "cpu"
	profileHeap      = "heap"
	profileAllocs    = "allocs"
	profileGoroutine = "goroutine"
	profileMutex     = "mutex"
	profileBlock     = "block"
	profileThreads   = "threadcreate"
)

// goProfileName is the kind of profile behind a path, if it is one of Go's: mutex and block look alike.
func goProfileName(urlPath string) string { return goProfiles[path.Base(urlPath)] }
