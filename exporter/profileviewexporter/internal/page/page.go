// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package page serves the page that shows profiles: files that do not change.
package page // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

//go:embed index.html *.css *.js *.svg
var files embed.FS

// Policy is the Content-Security-Policy of all pages: scripts and styles are files of this server.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// Static is the path of all files but index.html, which is the page itself.
const Static = "/static/"

// file is a file with its ETag, as it is and in gzip.
type file struct {
	contentType, tag string
	plain, gzipped   []byte
}

// all has the files by name. The name of the page is a slash.
var all = sync.OnceValue(read)

// Handler serves the files.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, found := all()[strings.TrimPrefix(r.URL.Path, Static)]
		if !found {
			http.NotFound(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Type", f.contentType)
		header.Set("ETag", f.tag)
		body := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			header.Set("Content-Encoding", "gzip")
			body = f.gzipped
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // 304 if the client has it
	})
}

func read() map[string]file {
	named := map[string]file{}
	entries, _ := fs.ReadDir(files, ".") // Embedded files can be read.
	for _, entry := range entries {
		plain, _ := fs.ReadFile(files, entry.Name())
		digest := sha256.Sum256(plain)
		f := file{contentType: mime.TypeByExtension(path.Ext(entry.Name())), tag: `"` + hex.EncodeToString(digest[:8]) + `"`, plain: plain}
		var gzipped bytes.Buffer
		w := gzip.NewWriter(&gzipped)
		_, _ = w.Write(plain) // A buffer returns no error.
		_ = w.Close()
		f.gzipped = gzipped.Bytes()
		name := entry.Name()
		if name == "index.html" {
			name = "/"
		}
		named[name] = f
	}
	return named
}
