// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package destinations tests what the built distribution sends to each backend. Captures of real clients go to a gateway
// that has an exporter for each backend. In place of the backends are servers that refuse what those refuse, by their
// documented rules, and that name profiles as those do.
package destinations // import "github.com/otelpprof/otelpprof/test/destinations"
