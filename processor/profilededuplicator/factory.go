// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/xprocessor"

	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadata"
)

// NewFactory returns the factory of the profile deduplicator.
func NewFactory() xprocessor.Factory {
	return xprocessor.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xprocessor.WithProfiles(createProfiles, metadata.ProfilesStability),
	)
}

func createProfiles(_ context.Context, set processor.Settings, config component.Config, next xconsumer.Profiles) (xprocessor.Profiles, error) {
	return newDeduplicator(set, config.(*Config), next)
}
