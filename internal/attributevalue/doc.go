// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributevalue limits the depth of attribute values and the length of their text, and measures them.
//
// Each level of nesting needs only a few bytes on the wire. So a message of some MiB can have a value with a million levels. A
// function that recurses once per level then overflows the stack, which ends the process. AsString, AsRaw and Equal of pdata
// are such functions. Copying and marshalling recurse as well, but they need less stack per level than unmarshalling. So it is
// safe to copy and marshal a message that was unmarshalled.
package attributevalue // import "github.com/otelpprof/otelpprof/internal/attributevalue"
