// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

func mount(string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
