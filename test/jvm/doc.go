// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package jvm records a program by JDK Flight Recorder, posts the recording as agents post theirs, and compares the profiles
// with what the JDK's own tools read in it. It needs a JDK, and uses each one
// that it finds.
package jvm
