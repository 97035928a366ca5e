// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import "go.opentelemetry.io/collector/pdata/pprofile"

// anonymousFunction is the name of a function of which only the start line is known.
const anonymousFunction = "(anonymous)"

// repairCode repairs functions and lines for which strict readers refuse the message, and reports whether it changed any.
// The Compactor must have been reset with the message.
func (w *work) repairCode() (repaired bool) {
	clearLines := w.opts.ClearNegativeLines && w.tables.NegativeLines
	name := w.opts.NameFunctions && w.tables.NamelessFunctions
	if !clearLines && !name {
		return false
	}
	w.makeOwn()
	if clearLines {
		w.clearLines(w.pd.Dictionary())
	}
	if name {
		w.keepMissing()
		w.nameFunctions(w.pd.Dictionary())
	}
	return true
}

// nameFunctions names functions without a name: the protocol requires a name, a system name or a file name.
func (w *work) nameFunctions(dict pprofile.ProfilesDictionary) {
	texts, name := dict.StringTable(), int32(0)
	isEmpty := func(i int32) bool { return i == 0 || i > 0 && int(i) < texts.Len() && texts.At(int(i)) == "" }
	for i, f := range dict.FunctionTable().All() {
		if i == 0 || f.StartLine() == 0 || !isEmpty(f.NameStrindex()) || !isEmpty(f.SystemNameStrindex()) || !isEmpty(f.FilenameStrindex()) {
			continue
		}
		if name == 0 {
			texts.Append(anonymousFunction)
			name = int32(texts.Len() - 1)
		}
		f.SetNameStrindex(name)
		w.stats.NamedFunctions++
	}
}

// clearLines replaces numbers below 0 by 0, which means that a number is not known: the protocol counts from 1.
func (w *work) clearLines(dict pprofile.ProfilesDictionary) {
	clearOne := func(n int64, set func(int64)) {
		if n < 0 {
			set(0)
			w.stats.ClearedLines++
		}
	}
	for _, f := range dict.FunctionTable().All() {
		clearOne(f.StartLine(), f.SetStartLine)
	}
	for _, location := range dict.LocationTable().All() {
		for _, line := range location.Lines().All() {
			clearOne(line.Line(), line.SetLine)
			clearOne(line.Column(), line.SetColumn)
		}
	}
}
