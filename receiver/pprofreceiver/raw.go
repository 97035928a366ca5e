// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"

	"github.com/otelpprof/otelpprof/internal/inflate"
)

// rawAPI takes a body that is one pprof. What it is of stands in the query and in headers.
func (s *server) rawAPI() api {
	return api{paths: []string{s.cfg.Path}, take: s.takeRaw, succeed: succeedEmpty, fail: failText}
}

func (s *server) takeRaw(ctx context.Context, r *http.Request, body []byte) (samples int, err error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && inflate.Plain(body) {
		return 0, refuse(classMalformed, "Content-Encoding is %.16q, but the body begins otherwise", encoding)
	}
	source := s.intake.newSource()
	setFromHeaders(source.Resource, r.Header, s.headers)
	if source.ProfileName, err = setFromQuery(source.Resource, r.URL.RawQuery); err != nil {
		return 0, err
	}
	return s.intake.take(ctx, body, source, s.cfg.LegacyFormats)
}
