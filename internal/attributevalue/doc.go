// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package attributevalue bounds what is done with the attribute values of others: how deep they are nested, and how long
// their text becomes.
//
// A few bytes on the wire nest a list a level deeper, so that a message of some MiB holds one that is a million levels deep.
// A function that calls itself for each level then exceeds the largest stack, which ends the process: pdata's AsString,
// AsRaw and Equal do. pdata's unmarshalling takes more stack for a level than its copying, measuring and marshalling, so
// that a message that was received can be copied and sent on.
package attributevalue // import "github.com/otelpprof/otelpprof/internal/attributevalue"
