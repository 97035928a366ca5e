// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package page has the files of the page that shows profiles.
package page // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/page"

import "embed"

// Files are the files: index.html is the page itself.
//
//go:embed index.html *.css *.js *.svg
var Files embed.FS

// Policy is the Content-Security-Policy of all pages: scripts and styles are files of this server.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"
