// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskBytes is the size of the disk for the queue.
const diskBytes = 256 << 20

// disk is the directory of the queue. If it is to be filled, it is a small file system.
type disk struct {
	directory string
	small     bool
}

func newDisk(small bool) (*disk, error) {
	directory, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the queue: %w", err)
	}
	d := &disk{directory: directory}
	if small {
		if err := mount(directory); err != nil {
			return nil, fmt.Errorf("cannot mount a small disk: %w", errors.Join(err, d.remove()))
		}
		d.small = true
	}
	return d, nil
}

func (d *disk) queue() string { return filepath.Join(d.directory, "queue") }

func (d *disk) filler() string { return filepath.Join(d.directory, "filler") }

// fill writes until the disk is full.
func (d *disk) fill() error {
	file, err := os.Create(d.filler())
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 4096)
	for {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (d *disk) free() error { return os.Remove(d.filler()) }

func (d *disk) remove() error {
	var err error
	if d.small {
		err = unmount(d.directory)
	}
	return errors.Join(err, os.RemoveAll(d.directory))
}
