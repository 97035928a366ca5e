#!/bin/sh
# Enables and starts the service. An upgrade only restarts it, and only if it runs: who stopped or disabled it keeps that. In a deb,
# $2 is the version before an upgrade; in an rpm, $1 is the number of installed versions. In a container there is no systemd.
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	if [ -n "$2" ] || [ "$1" -ge 2 ] 2>/dev/null; then
		systemctl try-restart otelcol-pprof.service || true
	else
		systemctl enable otelcol-pprof.service || true
		systemctl restart otelcol-pprof.service || true
	fi
fi
