#!/bin/sh
# Stops the service, unless the package is being upgraded: $1 is "upgrade" in a deb and above 0 in an rpm.
case "$1" in upgrade | 1) exit 0 ;; esac
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then
	systemctl disable --now otelcol-pprof.service
fi
