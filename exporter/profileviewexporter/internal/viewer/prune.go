// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/google/pprof/profile"

// Prune removes the frames that the profile names in drop_frames, as google/pprof does. It removes none if the expressions of the profile
// are invalid, or too expensive for its names.
func Prune(p *profile.Profile) {
	if p.DropFrames != "" {
		drop, keep, names := whole(p.DropFrames), whole(p.KeepFrames), int64(0)
		for _, f := range p.Function {
			names += int64(len(f.Name)) + 1
		}
		if cheap(drop) && cheap(keep) && int64(workOf(drop)+workOf(keep))*names <= maxWork {
			_ = p.RemoveUninteresting() // It removes nothing if an expression is invalid.
		}
	}
	p.DropFrames, p.KeepFrames = "", ""
}

// whole returns an expression for whole names, as google/pprof makes it. It can be valid although the original is not.
func whole(pattern string) string { return "^(" + pattern + ")$" }
