// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/otelpprof/otelpprof/internal/pprofmerge"

// PageBytes is what a page takes of memory beside what its profile costs.
const PageBytes = 4 << 20

// NameBytes is how much of a name is shown. What a page takes grows with the length of names, many times.
const NameBytes = 1024

// CostsOf returns what the parts of a profile cost on a page, in bytes of memory at its peak with what is garbage by then:
// from the bytes of the profile until the page is there. They are measured, see TestCosts.
func CostsOf(page string) pprofmerge.Costs {
	costs := pprofmerge.Costs{Sample: 900, Value: 40, Label: 1500, Frame: 300, Line: 1700, LineByte: 18}
	switch page {
	case "top":
		costs.Sample, costs.Frame, costs.Line, costs.Edge = 450, 60, 2600, 350
		costs.LineByte = 8
	case "both":
		costs.Line += 400 // the table of functions
	case "peek":
		costs.Sample, costs.Frame, costs.Line, costs.Edge = 450, 60, 3200, 1400
		costs.LineByte, costs.EdgeByte = 11, 8
	}
	return costs
}
