// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"go.opentelemetry.io/collector/component"

	"github.com/otelpprof/otelpprof/connector/splunklogprofileconnector"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter"
	"github.com/otelpprof/otelpprof/extension/kubernetesaccessextension"
	"github.com/otelpprof/otelpprof/extension/memorybudgetextension"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver"
)

// factories are those of all components, by the directory of each.
var factories = map[string]component.Factory{
	"connector/splunklogprofileconnector": splunklogprofileconnector.NewFactory(),
	"exporter/pprofexporter":              pprofexporter.NewFactory(),
	"exporter/profileviewexporter":        profileviewexporter.NewFactory(),
	"extension/kubernetesaccessextension": kubernetesaccessextension.NewFactory(),
	"extension/memorybudgetextension":     memorybudgetextension.NewFactory(),
	"processor/profilededuplicator":       profilededuplicator.NewFactory(),
	"processor/profilesymbolizer":         profilesymbolizer.NewFactory(),
	"receiver/pprofreceiver":              pprofreceiver.NewFactory(),
	"receiver/splunklogprofilereceiver":   splunklogprofilereceiver.NewFactory(),
}
