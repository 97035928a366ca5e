// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
)

// pprofAPI takes a body that is one pprof. The query and headers describe it.
type pprofAPI bool

func (pprofAPI) newAPI(s *server) *api {
	return &api{paths: []string{s.cfg.Path}, read: s.readPprof, succeed: succeedEmpty, fail: failText}
}

func (s *server) readPprof(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	source, err := s.newSource(r)
	if err != nil {
		return err
	}
	return payloads.add(ctx, payload{format: s.pprof, content: body, source: source})
}
