// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package javaframe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	var n Normalizer
	for name, want := range map[string]string{
		"App$$Lambda$75.0x00007ff44c0c4208.call":                                         "App$$Lambda_.call",
		"App$$Lambda$75/0x00007ff44c0c4208.call":                                         "App$$Lambda_.call",
		"App$$Lambda$75+0x00007ff44c0c4208/1283928880.call":                              "App$$Lambda_.call",
		"App$$Lambda$75+0x00007ff44c0c4208.call_[j]":                                     "App$$Lambda_.call_[j]",
		"App$$Lambda.0x00007ff44c0c4208.call":                                            "App$$Lambda_.call",
		"com/acme/App$$Lambda/0x00007ff44c0c4208":                                        "com/acme/App$$Lambda_",
		"com.acme.App$$Lambda$4/1283928880.run":                                          "com.acme.App$$Lambda_.run",
		"com.acme.App$$Lambda12.run":                                                     "com.acme.App$$Lambda_.run",
		"kafka/log/LogValidator$$$Lambda$1377.0x000000080156f840.apply":                  "kafka/log/LogValidator$$$Lambda_.apply",
		"App$$Lambda$1.0x1.f;App$$Lambda$2.0x2.g":                                        "App$$Lambda_.f;App$$Lambda_.g",
		"void App$$Lambda$1/0x2.call(int)":                                               "void App$$Lambda_.call(int)",
		"java/lang/invoke/LambdaForm$MH.0x0000000800c01220.invoke":                       "java/lang/invoke/LambdaForm$MH_.invoke",
		"java.lang.invoke.LambdaForm$DMH/1283928880.invokeStatic":                        "java.lang.invoke.LambdaForm$DMH_.invokeStatic",
		"jdk/internal/reflect/GeneratedMethodAccessor31.invoke":                          "jdk/internal/reflect/GeneratedMethodAccessor_.invoke",
		"sun.reflect.GeneratedConstructorAccessor7.newInstance":                          "sun.reflect.GeneratedConstructorAccessor_.newInstance",
		"sun.reflect.GeneratedSerializationConstructorAccessor1":                         "sun.reflect.GeneratedSerializationConstructorAccessor_",
		"jdk/proxy2/$Proxy57.get":                                                        "jdk/proxy_/$Proxy_.get",
		"jdk.proxy2.$Proxy57.get":                                                        "jdk.proxy_.$Proxy_.get",
		"com.sun.proxy.$Proxy5.get":                                                      "com.sun.proxy.$Proxy_.get",
		"$Proxy5.get":                                                                    "$Proxy_.get",
		"com.acme.Shop$$EnhancerBySpringCGLIB$$1a2b3c4d.order":                           "com.acme.Shop$$EnhancerBySpringCGLIB$$_.order",
		"Shop$$EnhancerBySpringCGLIB$$155ee6c5$$FastClassBySpringCGLIB$$25271246.invoke": "Shop$$EnhancerBySpringCGLIB$$_$$FastClassBySpringCGLIB$$_.invoke",
		"com.acme.$Proxy12$$FastClassByCGLIB$$1f.get":                                    "com.acme.$Proxy_$$FastClassByCGLIB$$_.get",
		"com.acme.Shop$$FastClassByCGLIB$$99":                                            "com.acme.Shop$$FastClassByCGLIB$$_",
		"a.$Proxy1.b$$Lambda$2/0x3.GeneratedMethodAccessor4.LambdaForm$MH/5":             "a.$Proxy_.b$$Lambda_.GeneratedMethodAccessor_.LambdaForm$MH_",
	} {
		got := n.Name([]byte(name))
		assert.Equal(t, want, string(got), name)
		assert.Equal(t, want, string(n.Name(got)), "a normalized name stays as it is")
	}
}

// TestNameUnchanged has names that resemble those of generated classes.
func TestNameUnchanged(t *testing.T) {
	var n Normalizer
	for _, name := range []string{
		"", "main.main", "App$Inner.run", "App.lambda$main$0", "scala.Option.$anonfun$get$1$adapted",
		"App$$Lambda$14.add",  // a class of Retrolambda, and a method of hexadecimal digits
		"App$$Lambda$14/face", // not known to be an address
		"App$$Lambda", "App$$Lambda$", "App$$Lambda.call", "App$$Lambda.0x", "App$$Lambda.0xcall", "App$$Lambda$1.0x12g",
		"java.lang.invoke.LambdaForm$Name.equals", "LambdaForm$/0x1", "LambdaForm$MH.0xg",
		"GeneratedMethodAccessor", "GeneratedMethodAccessorImpl.invoke", "GeneratedMethodAccessor2b.f", "com.acme.Accessor3.get",
		"App$Proxy5.get", "com.acme.$ProxyFactory.get", "jdk.proxyservice.Get", "libjdk.proxy2",
		"Shop$$SpringCGLIB$$0.order", "Shop$$EnhancerBySpringCGLIB$$.order", "Shop$$EnhancerBySpringCGLIB$$order",
		"libc.so.6+0x12345", "/proc/0x0000000000001234",
	} {
		given := []byte(name)
		assert.Equal(t, name, string(n.Name(given)))
		assert.Equal(t, name, string(given), "the argument is not modified")
	}
}

// TestNameOfManyMarkers checks that the work does not grow faster than the name: the buffer is never larger than the name.
func TestNameOfManyMarkers(t *testing.T) {
	var n Normalizer
	for _, part := range []string{"$$Lambda", "$$Lambda$1/0x2.", "LambdaForm$MH", "GeneratedMethodAccessor", "$Proxy", ".$Proxy1", "ByCGLIB$$", "0"} {
		name := "$" + strings.Repeat(part, 100_000)
		require.LessOrEqual(t, len(n.Name([]byte(name))), len(name))
	}
}

// FuzzName normalizes any text. The result is not longer, and stays as it is.
func FuzzName(f *testing.F) {
	f.Add([]byte("App$$Lambda$75.0x00007ff44c0c4208.call"))
	f.Add([]byte("jdk/proxy2/$Proxy57.LambdaForm$MH/0x1.GeneratedMethodAccessor2;ByCGLIB$$ab"))
	f.Fuzz(func(t *testing.T, name []byte) {
		given := string(name)
		var n, other Normalizer
		got := n.Name(name)
		require.LessOrEqual(t, len(got), len(given))
		require.Equal(t, given, string(name))
		require.Equal(t, string(got), string(other.Name(got)))
	})
}
