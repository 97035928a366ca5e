// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

// The fields of a key in an attribute.
const (
	keyField          = 1
	keyReferenceField = 3
)

// ClearKeyReferences sets key_strindex to 0 in the attributes of resources and scopes that have a key as well. pdata v0.159 sends
// both in messages that it has unmarshalled before, and pdata from v0.163 on refuses both. It changes body in place, which must be a
// request of profiles that [Count] accepts: Count limits the recursion.
func ClearKeyReferences(body []byte) { clearKeyReferences(body, profilesRequest) }

func clearKeyReferences(b []byte, m messageID) {
	var (
		hasKey    bool
		reference []byte
	)
	for pos := 0; pos < len(b); {
		tag, start, ok := varint(b, pos)
		number := int(int32(tag >> 3))
		if !ok || number <= 0 {
			return
		}
		if pos, ok = skip(b, start, tag&7); !ok {
			return
		}
		switch {
		case tag&7 == wireBytes:
			length, _, _ := lengthAt(b, start)
			content := b[pos-length : pos]
			if m == keyValue && number == keyField {
				hasKey = length > 0
			}
			if fields := messages[m]; number < len(fields) && hasAttributes(fields[number].message) {
				clearKeyReferences(content, fields[number].message)
			}
		case m == keyValue && number == keyReferenceField && tag&7 == wireVarint:
			reference = b[start:pos]
		}
	}
	if hasKey && len(reference) > 0 {
		clearVarint(reference)
	}
}

// hasAttributes reports whether ClearKeyReferences enters a message. It skips profiles and the dictionary.
func hasAttributes(m messageID) bool {
	switch m {
	case resourceProfiles, scopeProfiles, resource, scope, keyValue, anyValue, arrayValue, keyValueList:
		return true
	default:
		return false
	}
}

// clearVarint sets a varint to 0 and keeps its length.
func clearVarint(b []byte) {
	for i := range b {
		b[i] = 0x80
	}
	b[len(b)-1] = 0
}
