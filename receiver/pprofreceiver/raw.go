// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
)

// rawAPI takes a body that is one pprof. What it is of stands in the query and in headers.
func (s *server) rawAPI() *api {
	return &api{way: wayPprof, paths: []string{s.cfg.Path}, take: s.takeRaw, succeed: succeedEmpty, fail: failText}
}

func (s *server) takeRaw(ctx context.Context, r *http.Request, payloads *batch, body []byte) error {
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	source, err := s.newSource(r)
	if err != nil {
		return err
	}
	return payloads.add(ctx, body, source, times{})
}
