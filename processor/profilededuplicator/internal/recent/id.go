// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"crypto/sha256"
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// ID stands for a tenant, a profile id and a sample type, for there are senders that give one id to all sample types of
// a capture. It is a cryptographic hash: the names are as long as a sender likes, and memory must be bounded.
type ID [sha256.Size]byte

// Of returns the ID of a profile, and false for a profile without id.
func Of(tenant string, strings pcommon.StringSlice, profile pprofile.Profile) (ID, bool) {
	id := profile.ProfileID()
	if id.IsEmpty() {
		return ID{}, false
	}
	text := make([]byte, 0, 256)
	text = append(text, id[:]...)
	text = appendText(text, tenant)
	text = appendName(text, strings, profile.SampleType().TypeStrindex())
	text = appendName(text, strings, profile.SampleType().UnitStrindex())
	return sha256.Sum256(text), true
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// appendName appends a string of the table. What is out of range counts as no name.
func appendName(to []byte, strings pcommon.StringSlice, index int32) []byte {
	if index < 0 || int(index) >= strings.Len() {
		return appendText(to, "")
	}
	return appendText(to, strings.At(int(index)))
}
