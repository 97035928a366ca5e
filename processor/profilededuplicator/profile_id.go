// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"crypto/sha256"
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// profileID identifies a profile by tenant, profile id and sample type. The sample type is necessary because some senders use one
// id for all sample types of a capture. It is a cryptographic hash, so long names need no more memory than short ones.
type profileID [sha256.Size]byte

// idNamer computes the ids of the profiles of one message. It hashes each long string once.
type idNamer struct {
	tenant  []byte
	strings pcommon.StringSlice
	// long has the hashes of long names by their index in strings.
	long map[int32][]byte
	text []byte
}

// longText is the length from which a text is replaced by its hash.
const longText = 256

// newIDNamer returns an idNamer for a tenant and a string table.
func newIDNamer(tenant string, strings pcommon.StringSlice) *idNamer {
	return &idNamer{tenant: appendText(nil, tenant), strings: strings}
}

// of returns the id of a profile. It returns false for a profile without a profile id.
func (n *idNamer) of(profile pprofile.Profile) (profileID, bool) {
	id := profile.ProfileID()
	if id.IsEmpty() {
		return profileID{}, false
	}
	n.text = append(append(n.text[:0], id[:]...), n.tenant...)
	n.appendName(profile.SampleType().TypeStrindex())
	n.appendName(profile.SampleType().UnitStrindex())
	return profileID(sha256.Sum256(n.text)), true
}

// appendText appends a text with its length, or the hash of a long one.
func appendText(to []byte, text string) []byte {
	to = binary.AppendUvarint(to, uint64(len(text)))
	if len(text) < longText {
		return append(to, text...)
	}
	sum := sha256.Sum256([]byte(text))
	return append(to, sum[:]...)
}

// appendName appends a string of the table, or the empty string if the index is out of range.
func (n *idNamer) appendName(index int32) {
	if index < 0 || int(index) >= n.strings.Len() {
		n.text = appendText(n.text, "")
		return
	}
	name := n.strings.At(int(index))
	if len(name) < longText {
		n.text = appendText(n.text, name)
		return
	}
	known, found := n.long[index]
	if !found {
		known = appendText(nil, name)
		if n.long == nil {
			n.long = map[int32][]byte{}
		}
		n.long[index] = known
	}
	n.text = append(n.text, known...)
}
