// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pathname

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCleanLeavesHarmlessValues(t *testing.T) {
	for _, value := range []string{
		"checkout", "Checkout.Api", "my-service_2", "a..b", "team=x,y@z+1", "7", "_", "console", "com", "lpt", "com10",
		"nul_", strings.Repeat("x", 100),
	} {
		assert.Equal(t, value, clean(value, 100, false))
	}
}

func TestCleanChangesWhatIsUnfit(t *testing.T) {
	for value, want := range map[string]string{
		"../../etc/passwd":      "_._.._etc_passwd",
		"/etc/passwd":           "_etc_passwd",
		"..":                    "__",
		".":                     "_",
		".hidden":               "_hidden",
		"-rf":                   "_rf",
		`C:\Windows`:            "C__Windows",
		"a\x00b":                "a_b",
		"a\nb\x7f":              "a_b_",
		"ends.":                 "ends_",
		"two words":             "two_words",
		"unknown_service:java":  "unknown_service_java",
		"tilde~":                "tilde_",
		"caf\u00e9":             "caf\u00e9",
		"right\u202eleft":       "right_left",
		"not utf-8 \xff\xfe":    "not_utf-8___",
		"NUL":                   "_NUL",
		"nul.txt":               "_nul.txt",
		"Com1.tar.gz":           "_Com1.tar.gz",
		"lpt9":                  "_lpt9",
		strings.Repeat("y", 65): strings.Repeat("y", 64-hashLength),
		strings.Repeat("é", 40): strings.Repeat("é", (64-hashLength)/2),
	} {
		got := clean(value, 64, false)
		harmless, hash, found := strings.Cut(got, mark)
		require.True(t, found, "%q became %q", value, got)
		assert.Equal(t, want, harmless, "%q", value)
		assert.Regexp(t, "^[0-9a-f]{12}$", hash)
	}
}

// Services whose cleaned names are similar must not share a directory.
func TestCleanKeepsValuesApart(t *testing.T) {
	values := []string{
		"a/b", "a_b", `a\b`, "a b", "a:b", "a\x00b", "../a", "..\\a", "__a", ".", "..", "_", "__", "é", "e\u0301", "nul", "_nul", "NUL",
		strings.Repeat("z", 300), strings.Repeat("z", 301), strings.Repeat("z", 300) + "/",
	}
	// A cleaned value can be the name of another service.
	for _, value := range values {
		values = append(values, clean(value, 64, false))
	}
	seen := map[string]string{}
	for _, value := range values {
		name := clean(value, 64, false)
		if other, found := seen[name]; found && name != value {
			assert.Equal(t, other, value, "both became %q", name)
		}
		seen[name] = value
	}
	assert.Greater(t, len(seen), 20)
}

func TestCleanOnFileSystemsThatFoldCase(t *testing.T) {
	assert.Equal(t, "checkout", clean("checkout", 64, true))
	upper, mixed := clean("CHECKOUT", 64, true), clean("Checkout", 64, true)
	assert.True(t, strings.HasPrefix(upper, "CHECKOUT~"), upper)
	assert.False(t, strings.EqualFold(upper, mixed), "%q and %q", upper, mixed)
	assert.False(t, strings.EqualFold(upper, "checkout"))
}

// FuzzClean fails if a name is not one visible, readable file name, and if two values become the same name.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"checkout", "../../etc", "a~0123456789ab", "nul.", "é", "\xff", strings.Repeat("q", 400), "A", "-"} {
		f.Add(seed, "checkout", 64, false)
		f.Add(seed, strings.ToUpper(seed), minValue, true)
	}
	f.Fuzz(func(t *testing.T, a, b string, limit int, foldCase bool) {
		if a == "" || b == "" || len(a)+len(b) > 10_000 || limit < minValue || limit > maxSegment {
			t.Skip()
		}
		first, second := clean(a, limit, foldCase), clean(b, limit, foldCase)
		for _, name := range []string{first, second} {
			require.NotEmpty(t, name)
			require.LessOrEqual(t, len(name), limit)
			require.True(t, utf8.ValidString(name))
			require.True(t, filepath.IsLocal(name))
			require.Equal(t, name, filepath.Base(name))
			require.False(t, strings.ContainsFunc(name, unicode.IsControl), "%q", name)
			require.False(t, strings.ContainsAny(name, `/\<>:"|?*'$ `), "%q", name)
			require.NotContains(t, ".-", name[:1])
			require.False(t, strings.HasSuffix(name, "."), "%q", name)
			require.False(t, isDevice(name), "%q", name)
			changed := strings.Contains(name, mark)
			require.Equal(t, changed, clean(name, limit, foldCase) != name, "the name of a changed value is taken: %q", name)
		}
		if a != b {
			require.NotEqual(t, first, second)
			if foldCase {
				require.False(t, strings.EqualFold(first, second), "%q and %q", first, second)
			}
		}
	})
}
