// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"slices"
)

// newAPIs returns the APIs that are on, without metrics.
func (s *server) newAPIs() []*api {
	on := s.cfg.APIs
	all := []*api{
		{
			on: on.Pprof, name: "pprof", paths: []string{s.cfg.Path},
			read: s.readPprof, succeed: succeedEmpty, fail: failText,
		},
		{
			on: on.PyroscopeIngest, name: "pyroscope_ingest", paths: ingestPaths,
			read: s.readIngest, succeed: succeedOK, fail: failIngest,
		},
		{
			on: on.PyroscopePush, name: "pyroscope_push", paths: pushPaths,
			read: s.readCall(pushMessage, describePyroscope), succeed: succeedCall, fail: failCall,
		},
		{
			on: on.Datadog, name: "datadog", paths: datadogPaths,
			read: s.readDatadog, succeed: succeedOK, fail: failText,
		},
		{
			on: on.Parca, name: "parca", paths: parcaPaths,
			read: s.readCall(writeRawMessage, describeParca), succeed: succeedCall, fail: failParca,
		},
	}
	return slices.DeleteFunc(all, func(one *api) bool { return !one.on })
}
