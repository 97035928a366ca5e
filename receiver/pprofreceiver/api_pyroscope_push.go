// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/push"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// pyroscopePushAPI is Pyroscope's newer API, push.v1, over Connect or gRPC.
type pyroscopePushAPI bool

func (pyroscopePushAPI) newAPI(s *server) *api {
	return &api{
		paths:   []string{"/push.v1.PusherService/Push"},
		read:    s.readCall(procedure{message: push.PushRequest, describe: describePyroscope}),
		succeed: succeedCall, fail: failCall,
	}
}

func describePyroscope(source *pprof.Source, labels []label.Label) {
	setFromLabels(source, labels, pyroscopeNames)
}
