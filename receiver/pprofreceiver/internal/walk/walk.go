// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package walk goes through messages.
package walk

import "github.com/otelpprof/otelpprof/internal/walk"

// Profiles goes through all profiles of a message, see [walk.Profiles].
var Profiles = walk.Profiles
