// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/otelpprof/otelpprof/internal/pprofmerge"

// PageBytes is the memory of a page in addition to the costs of its profile.
const PageBytes = 4 << 20

// NameBytes limits the shown part of a name, since a page needs a multiple of the length of its names.
const NameBytes = 1024

// CostsOf returns the memory costs of the parts of a profile on a page, in bytes. They include the garbage at the peak, from
// the encoded profile to the finished page. TestCosts measures them.
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
