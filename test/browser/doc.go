// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser looks at the pages of profile_view with a real browser: Chromium, driven by playwright-core, against
// the built distribution. OTELPPROF_BINARY names the distribution, CHROMIUM the browser where it has another name than
// usual.
//
// With OTELPPROF_SCREENSHOTS=1 the pictures of docs/images are made anew.
package browser
