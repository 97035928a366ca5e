// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpwire tells how much memory the body of an OTLP request takes once it is unmarshalled, before that is done.
//
// One pass over the tags adds up what pdata v1.68.0 takes for each submessage, each entry of a list and each string,
// and checks how deep attribute values are nested. It takes no memory of its own and does not recurse.
//
// The number is that of the live heap at its largest: a list that grows has its old and its new array at the same time.
package otlpwire // import "github.com/otelpprof/otelpprof/internal/otlpwire"
