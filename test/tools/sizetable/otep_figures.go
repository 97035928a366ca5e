// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

// figures are the columns of the OTEP's tables.
type figures struct {
	representation                                                          string
	bytes, gzipped, retainedObjects, labelSets, bytesAllocated, allocations int64
}

// otepInput is an input of the OTEP's benchmarks: the profile that stands for it here, and what the OTEP says of it.
type otepInput struct {
	name, path string
	timestamps bool
	otep       []figures
}

var otepInputs = []otepInput{
	{name: "average", path: "real/otep-average.pprof", otep: []figures{
		{"pprof", 7_974, 3_772, 653, 1, 876_968, 824},
		{"pprofextended", 7_695, 3_347, 654, 1, 899_400, 779},
	}},
	{name: "average with timestamps", path: "real/otep-average.pprof", timestamps: true, otep: []figures{
		{"pprof", 9_516, 3_787, 968, 1, 898_696, 1_568},
		{"pprofextended", 8_863, 3_387, 806, 1, 919_904, 1_476},
	}},
	{name: "ruby", path: "synth/synth-ruby.pb", otep: []figures{
		{"pprof", 1_869_549, 115_289, 19_759, 1, 14_488_578, 42_359},
		{"pprofextended", 841_957, 94_852, 19_759, 1, 20_719_752, 33_410},
	}},
	{name: "large", path: "synth/synth-large.pb", otep: []figures{
		{"pprof", 2_874_764, 1_110_109, 350_659, 27, 27_230_584, 470_033},
		{"pprofextended", 2_398_961, 872_059, 274_140, 27, 38_874_712, 353_083},
	}},
}
