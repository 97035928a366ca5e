// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configuration holds the configurations of all components: what is refused and how, and their schemas.
package configuration // import "github.com/otelpprof/otelpprof/test/configuration"
