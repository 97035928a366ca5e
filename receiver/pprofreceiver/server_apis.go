// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"slices"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/push"
)

// APIsConfig turns the push APIs of the server on and off.
type APIsConfig struct {
	// Pprof accepts one profile as the body, at the configured path.
	Pprof bool `mapstructure:"pprof"`
	// PyroscopeIngest is Pyroscope's older API: one profile, in a form or as the body, described by the query.
	PyroscopeIngest bool `mapstructure:"pyroscope_ingest"`
	// PyroscopePush is Pyroscope's newer API, push.v1, over Connect or gRPC.
	PyroscopePush bool `mapstructure:"pyroscope_push"`
	// Datadog is the API of the Datadog agent for profilers, and of Datadog for agents: a form with several profiles.
	Datadog bool `mapstructure:"datadog"`
	// Parca is Parca's WriteRaw, over gRPC or Connect, and as JSON at the path of Parca's gateway.
	Parca bool `mapstructure:"parca"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// newAPIs returns the APIs that are on, without metrics. It only reads the configuration of the server.
func (s *server) newAPIs() []*api {
	on := s.cfg.APIs
	all := []*api{
		{
			on: on.Pprof, name: "pprof", paths: []string{s.cfg.Path},
			read: s.readPprof, succeed: succeedEmpty, fail: failText,
		},
		{
			on: on.PyroscopeIngest, name: "pyroscope_ingest", paths: []string{"/ingest", "/pyroscope/ingest"},
			read: s.readIngest, succeed: succeedOK, fail: failIngest,
		},
		{
			on: on.PyroscopePush, name: "pyroscope_push", paths: []string{"/push.v1.PusherService/Push"},
			read: s.readCall(push.PushRequest, describePyroscope), succeed: succeedCall, fail: failCall,
		},
		{
			on: on.Datadog, name: "datadog", paths: []string{"/profiling/v1/input", "/api/v2/profile"},
			read: s.readDatadog, succeed: succeedOK, fail: failText,
		},
		{
			on: on.Parca, name: "parca", paths: []string{"/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw", parcaGatewayPath},
			read: s.readCall(push.WriteRawRequest, describeParca), succeed: succeedCall, fail: failParca,
		},
	}
	return slices.DeleteFunc(all, func(one *api) bool { return !one.on })
}
