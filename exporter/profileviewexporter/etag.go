// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// unlessKnown returns [errNotModified] if the client has the answer already. The answer depends on the profiles and the URL.
func (v *visit) unlessKnown(sides ...*selection) error {
	digest := sha256.New()
	_, _ = digest.Write(v.start[:])
	_, _ = digest.Write([]byte(v.request.URL.RequestURI() + "\x00"))
	for _, s := range sides {
		for _, one := range s.profiles {
			_, _ = fmt.Fprintf(digest, "%d,", one.Sequence)
		}
		_, _ = digest.Write([]byte{0})
	}
	tag := `"` + hex.EncodeToString(digest.Sum(nil)[:16]) + `"`
	v.header.Set("ETag", tag)
	for candidate := range strings.SplitSeq(v.request.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			return errNotModified
		}
	}
	return nil
}
