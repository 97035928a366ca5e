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
		{"normalized", 7_940, 3_397, 753, 1, 906_848, 1_815},
		{"arrays", 7_487, 3_276, 586, 1, 922_948, 2_391},
		{"pprofextended", 7_695, 3_347, 654, 1, 899_400, 779},
	}},
	{name: "average with timestamps", path: "real/otep-average.pprof", timestamps: true, otep: []figures{
		{"pprof", 9_516, 3_787, 968, 1, 898_696, 1_568},
		{"normalized", 9_277, 3_394, 900, 1, 925_904, 2_632},
		{"arrays", 8_877, 3_309, 588, 1, 946_468, 3_306},
		{"pprofextended", 8_863, 3_387, 806, 1, 919_904, 1_476},
	}},
	{name: "ruby", path: "synth/synth-ruby.pb", otep: []figures{
		{"pprof", 1_869_549, 115_289, 19_759, 1, 14_488_578, 42_359},
		{"normalized", 1_931_909, 130_565, 46_890, 1, 315_003_144, 1_725_508},
		{"arrays", 1_868_982, 120_298, 23_483, 1, 314_117_160, 1_689_537},
		{"pprofextended", 841_957, 94_852, 19_759, 1, 20_719_752, 33_410},
	}},
	{name: "large", path: "synth/synth-large.pb", otep: []figures{
		{"pprof", 2_874_764, 1_110_109, 350_659, 27, 27_230_584, 470_033},
		{"normalized", 2_528_337, 953_211, 333_565, 27, 46_449_824, 1_274_000},
		{"arrays", 2_251_355, 999_310, 213_018, 27, 60_971_752, 1_904_756},
		{"pprofextended", 2_398_961, 872_059, 274_140, 27, 38_874_712, 353_083},
	}},
}
