// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"reflect"

	"go.opentelemetry.io/collector/confmap"
)

// APIsConfig turns the push APIs of the server on and off. Each field is one API: its type creates the API, and its key is
// the name of the API in the configuration and in the metrics.
type APIsConfig struct {
	// Pprof accepts one profile as the body, at the configured path.
	Pprof pprofAPI `mapstructure:"pprof"`
	// PyroscopeIngest is Pyroscope's older API, at /ingest.
	PyroscopeIngest pyroscopeIngestAPI `mapstructure:"pyroscope_ingest"`
	// PyroscopePush is Pyroscope's newer API, push.v1.
	PyroscopePush pyroscopePushAPI `mapstructure:"pyroscope_push"`
	// Datadog is the API of the Datadog agent for profilers, at /profiling/v1/input.
	Datadog datadogAPI `mapstructure:"datadog"`
	// Parca is Parca's WriteRaw.
	Parca parcaAPI `mapstructure:"parca"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// pushAPI is a field of [APIsConfig]. Its kind is bool: true turns the API on.
type pushAPI interface {
	// newAPI returns the API for one server, without name and metrics. It must only read the configuration of the server.
	newAPI(s *server) *api
}

// api is one push API of a server: its paths, how a request is read, and the form of its answers.
type api struct {
	// name is the name in the configuration and in the metrics.
	name    string
	metrics *apiMetrics
	paths   []string
	// read adds the payloads of a request to the batch. body is valid until read returns. An error applies to the whole
	// request.
	read func(ctx context.Context, r *http.Request, payloads *batch, body []byte) error
	// succeed and fail write the answer. Headers may already be set.
	succeed func(w http.ResponseWriter, r *http.Request)
	fail    func(w http.ResponseWriter, r *http.Request, f failure)
}

// failure describes a refused request for its answer.
type failure struct {
	answer
	class class
	text  string
}

// allAPIs returns the configuration in which every API is on.
func allAPIs() APIsConfig {
	var cfg APIsConfig
	for field, value := range reflect.ValueOf(&cfg).Elem().Fields() {
		if field.IsExported() {
			value.SetBool(true)
		}
	}
	return cfg
}

// newAPIs returns the APIs that are on, with their names.
func (s *server) newAPIs() []*api {
	var apis []*api
	for field, value := range reflect.ValueOf(s.cfg.APIs).Fields() {
		if !field.IsExported() || !value.Bool() {
			continue
		}
		one := value.Interface().(pushAPI).newAPI(s)
		one.name = field.Tag.Get(confmap.MapstructureTag)
		apis = append(apis, one)
	}
	return apis
}
