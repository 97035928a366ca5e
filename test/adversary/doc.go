// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package adversary sends hostile bodies to the built distribution with each shipped configuration, in the memory of a
// small container: the process must stay below that memory and alive, others must be served meanwhile, and it must stop and
// start again as it should. It also holds the formula of docs/operations.md against the memory that it measures.
//
// OTELPPROF_ADVERSARY says how much is sent: "ci" is each body 8 times at once to two configurations in 512 MiB, and the
// bodies that are for target discovery, the tiers around Kafka and the names of addresses alone, "full" is everything. Any part can be chosen with -run, as TestAdversary/gateway/512MiB/pprof-empty-mappings$/x8.
package adversary
