// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"crypto/sha256"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/internal/discovery"
)

// key is the same for targets that are equal. It begins with the addresses, which give the targets their order. The rest is a
// hash: the labels of a group can have megabytes, and each of its targets has them.
func key(target *discovery.Target) string {
	var text strings.Builder
	write(&text, target.Address, target.Origin)
	hash := sha256.New()
	write(hash, target.Scheme, target.PathPrefix, target.Interval.String(), target.Timeout.String(), strconv.FormatBool(target.Listed))
	for _, values := range []map[string]string{target.Params, target.Attributes} {
		write(hash, strconv.Itoa(len(values)))
		for _, name := range slices.Sorted(maps.Keys(values)) {
			write(hash, name, values[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(target.Profiles)) {
		profile := target.Profiles[name]
		write(hash, name, strconv.FormatBool(profile.Skip), profile.Scheme, profile.Port, profile.Path)
	}
	text.Write(hash.Sum(nil))
	return text.String()
}

// write writes each value after its length, so that no two lists of values give the same bytes.
func write(to io.Writer, values ...string) {
	for _, value := range values {
		_, _ = io.WriteString(to, strconv.Itoa(len(value))+":")
		_, _ = io.WriteString(to, value)
	}
}
