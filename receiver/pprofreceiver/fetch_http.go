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
	"slices"
	"strconv"
	"strings"
	"sync"
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

// get returns the answer of a URL, if it may be a profile. The memory keeps it. The error has a class, see [classOf].
func (s *scrape) get(ctx context.Context, target string, m *requestMemory) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, newRefusal(unreachable, "%w", err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, newRefusal(unreachable, "%w", httpclient.WithoutURL(err))
	}
	defer response.Body.Close()
	limit := s.cfg.MaxResponseSize
	body, err := m.read(ctx, io.LimitReader(response.Body, limit+1), response.ContentLength)
	switch {
	case err != nil && classOf(err) != internalError:
		return nil, err
	case err != nil && !errors.Is(err, io.EOF):
		return nil, newRefusal(unreachable, "cannot read the answer: %w", err)
	case int64(len(body)) > limit:
		return nil, newRefusal(tooLarge, "the answer is larger than max_response_size, %d bytes", limit)
	case response.StatusCode != http.StatusOK:
		return nil, newRefusal(badAnswer, "status %d%s", response.StatusCode, quote(body))
	case len(body) == 0:
		return nil, newRefusal(badAnswer, "the answer is empty")
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
	return newRefusal(badAnswer, "it is %s, not a profile%s (a parameter debug makes Go answer with text)",
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

const (
	// askedBytes is the memory of a fetch that waits for an answer: a connection with its goroutines and buffers.
	askedBytes = 32 << 10
	// askedPart is the part of the memory budget that all of them may take. It counts nowhere.
	askedPart = 4
)

// errOverdue ends a fetch.
var errOverdue = errors.New("no answer yet, and too many other fetches wait for theirs")

// askedTargets are the fetches that wait for an answer, the oldest first. Thousands of targets can hang at the same time.
type askedTargets struct {
	mu    sync.Mutex
	limit int
	all   []*asked
}

// asked is a fetch. Before a time it cannot have an answer: the target profiles. answered says that the target has answered the fetch before.
type asked struct {
	until    time.Time
	answered bool
	stop     context.CancelCauseFunc
}

// begin adds a fetch that needs so much time. The caller must call end when it has the answer. Above the limit, a fetch of a target that has
// answered before ends the oldest of those whose targets have not and whose time is over. Others are refused.
func (a *askedTargets) begin(ctx context.Context, length time.Duration, answered bool) (of context.Context, end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if len(a.all) >= a.limit {
		i := slices.IndexFunc(a.all, func(other *asked) bool { return answered && !other.answered && other.until.Before(now) })
		if i < 0 {
			return nil, nil, newRefusal(busy, "%d other fetches wait for their targets", len(a.all))
		}
		a.all[i].stop(errOverdue)
		a.all = slices.Delete(a.all, i, i+1)
	}
	of, stop := context.WithCancelCause(ctx)
	one := &asked{until: now.Add(length), answered: answered, stop: stop}
	a.all = append(a.all, one)
	return of, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if i := slices.Index(a.all, one); i >= 0 {
			a.all = slices.Delete(a.all, i, i+1)
		}
		stop(nil)
	}, nil
}
