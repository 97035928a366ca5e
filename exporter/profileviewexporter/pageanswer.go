// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/viewer"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// gzipWriterBytes is the approximate size of a gzip writer.
const gzipWriterBytes = 1200 << 10

var gzipWriters scratch.Keeper[gzip.Writer]

// pageAnswer writes a page. It can send the beginning while the rest is being drawn, so that the user sees the bar at once.
type pageAnswer struct {
	w http.ResponseWriter
	// zip writes to compressed. It is nil if the client does not accept gzip.
	zip        *gzip.Writer
	compressed bytes.Buffer
	// kept is the uncompressed beginning, if it was not sent early.
	kept []byte
	// sent is closed after the beginning is sent. It is nil if the beginning is not sent early.
	sent chan struct{}
	// closed is true after the whole page is compressed.
	closed bool
}

// begin makes the beginning of a page of google/pprof, and sends it if isEarly allows it.
func (p *pages) begin(d *drawing, page, layout string, above *bar) error {
	added, err := p.bar(d, above)
	if err != nil {
		return err
	}
	beginning, err := viewer.Begin(page, d.about.title(), layout, added)
	if err != nil {
		return err
	}
	return d.answer.begin(beginning, isEarly(d.r))
}

func newPageAnswer(w http.ResponseWriter, r *http.Request) *pageAnswer {
	a := &pageAnswer{w: w}
	if takesGzip(r) {
		if a.zip = gzipWriters.Get(); a.zip == nil {
			a.zip = gzip.NewWriter(nil)
		}
		a.zip.Reset(&a.compressed)
	}
	return a
}

// isEarly returns whether the beginning of a page may be sent before the rest is known. Programs need the final status, and
// google/pprof can still refuse its own parameters.
func isEarly(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !asksGoogle(r.URL.Query())
}

// asksGoogle returns whether there are parameters that only google/pprof checks.
func asksGoogle(values url.Values) bool {
	for name := range values {
		if name != sampleIndexParameter && name != pivotParameter && slices.Contains(viewer.Parameters, name) {
			return true
		}
	}
	return false
}

// begin takes the beginning of a page. If early is set, a goroutine sends it, so that a slow client does not delay drawing. All
// headers must be set before.
func (a *pageAnswer) begin(beginning []byte, early bool) error {
	if a.zip != nil {
		_, err := a.zip.Write(beginning)
		if err == nil && early {
			err = a.zip.Flush()
		}
		if err != nil {
			return fmt.Errorf("cannot compress a page: %w", err)
		}
		beginning = nil
		if early {
			beginning = bytes.Clone(a.compressed.Bytes())
			a.compressed.Reset()
		}
	}
	if !early {
		a.kept = beginning
		return nil
	}
	a.setHeader()
	a.sent = make(chan struct{})
	go func() {
		defer close(a.sent)
		if _, err := a.w.Write(beginning); err == nil {
			_ = http.NewResponseController(a.w).Flush() // on an error it is sent with the rest
		}
	}()
	return nil
}

func (a *pageAnswer) setHeader() {
	a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if a.zip != nil {
		a.w.Header().Set("Content-Encoding", "gzip")
	}
}

// encoded returns the rest of the page, compressed if the client accepts that. The result is valid until the end of the answer.
func (a *pageAnswer) encoded(rest []byte) ([]byte, error) {
	if a.zip == nil {
		return rest, nil
	}
	a.closed = true
	_, err := a.zip.Write(rest)
	if err == nil {
		err = a.zip.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot compress a page: %w", err)
	}
	return a.compressed.Bytes(), nil
}

// write sends the parts that were not sent yet.
func (a *pageAnswer) write(rest []byte) error {
	if a.sent == nil {
		a.setHeader()
	}
	a.wait()
	for _, part := range [][]byte{a.kept, rest} {
		if _, err := a.w.Write(part); err != nil { //nolint:gosec,nolintlint // names are escaped; gosec sees this in some runs only
			return err
		}
	}
	return nil
}

// wait waits until the beginning is sent. A handler must not return before, since its writer is invalid afterwards.
func (a *pageAnswer) wait() {
	if a.sent != nil {
		<-a.sent
	}
}

// end ends the answer. If the beginning was sent, it writes an error below it and aborts the connection, so that browsers do
// not cache the incomplete page.
func (a *pageAnswer) end(err error) error {
	a.wait()
	if err != nil && a.sent != nil {
		if !a.closed {
			text := `<section id="notice" role="alert">` + html.EscapeString(err.Error()) + `</section>`
			body, _ := a.encoded([]byte(text))
			_, _ = a.w.Write(body) // the client can be disconnected
			_ = http.NewResponseController(a.w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	if a.zip != nil {
		a.zip.Reset(nil)
		gzipWriters.Put(a.zip, gzipWriterBytes)
	}
	return err
}
