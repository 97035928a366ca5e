// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "net/url"

// Parameters are the parameters that the pages read: those of google/pprof, and p, in which the script of a flame graph keeps
// the selected function.
var Parameters = []string{
	"calltree", "compact", "dropneg", "ef", "f", "g", "h", "i", "intel", "mean", "n", "nf", "noinlines", "norm", "p", "prunefrom",
	"rel", "s", "sf", "showcolumns", "si", "sort", "tf", "th", "ti", "trim", "ts", "unit",
}

// WantsLabels returns whether the parameters select samples by their labels.
func WantsLabels(values url.Values) bool { return values.Get("tf") != "" || values.Get("ti") != "" }
