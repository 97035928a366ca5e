// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import "bytes"

// frameType returns the attribute for the type of a frame, -1 when there is none: the type follows from the language of
// the resource, except in native code.
func (t *decoding) frameType(native bool) int32 {
	if t.opts.OmitFrameType {
		return -1
	}
	known, name := &t.resource.frameType, t.resource.frameTypeName
	if native {
		known, name = &t.native, frameTypeNative
	}
	if name == "" {
		return -1
	}
	if *known == 0 {
		*known = t.dict.StringAttribute(t.dict.String(locationFrameType), 0, name) + 1
	}
	return *known - 1
}

// isNative tells whether a frame is native code.
func isNative(function, file []byte) bool {
	return isNativeFunction(function) || string(file) == nativeMethod
}

// nativeMethod is what Java writes instead of the file of a method that is native code.
const nativeMethod = "Native Method"

// isNativeFunction tells whether .NET says that it could not look further.
func isNativeFunction(name []byte) bool {
	return string(bytes.TrimSuffix(name, []byte("(unknown)"))) == "Unknown_Native_Function"
}

// isNoFile tells whether an agent writes this instead of the name of a file.
func isNoFile(name []byte) bool {
	switch string(name) {
	case "unknown", "Unknown Source", nativeMethod, "native":
		return true
	default:
		return false
	}
}
