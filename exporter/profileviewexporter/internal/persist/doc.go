// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package persist writes the entries of a [recent.Store] to a storage of the Collector, and reads them after a restart.
//
// A storage is a map of keys and values that cannot be listed. Each entry has a slot, which is a number. Its keys are "h" and
// the slot for its header, and "b", the slot, a dot and a number for each piece of its body. The key "slots" has the number of
// slots that were ever in use. A slot is free again after its entry has been deleted.
//
// An entry with few pieces is written with its header in one batch. For a larger entry, the first batch has a header that marks
// the entry as incomplete, and the last batch has the final header. So a restart after a crash detects incomplete entries.
package persist // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persist"
