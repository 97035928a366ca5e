// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package persist keeps what a [recent.Store] holds in a storage of the Collector, and reads it again after a restart.
//
// A storage is a map of keys and values that cannot be listed. An entry has a slot, a number that is free. Its keys are
// "h" and the slot for its header, and "b", the slot, a dot and a number for each piece of its body. The key "slots" says
// how many slots were ever in use. A slot is used again when its entry has been deleted.
//
// The header and the pieces of an entry come into the storage in one batch if they are few. Else the first batch has a header
// that says that the entry is incomplete, and the last one has the final header: what a crash leaves behind is known.
package persist // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persist"
