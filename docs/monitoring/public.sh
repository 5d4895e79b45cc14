#!/bin/sh
# Writes metrics about a published place, as players see it, for node_exporter: docs/OPERATING.md, "As players see it".
#
#   public.sh URL ROOT.json OUT.prom
#
# OUT.prom is in the folder of node_exporter's --collector.textfile.directory, and is replaced as a whole. Needs collet and jq.
set -u
url=$1 root=$2 out=$3
json=$(collet release verify --public "$url" --trusted-root "$root" --json) && ok=1 || ok=0
{
	echo '# HELP collet_public_ok 1 if nothing was wrong with the lists that players get.'
	echo '# TYPE collet_public_ok gauge'
	printf 'collet_public_ok{url="%s"} %d\n' "$url" "$ok"
	echo '# HELP collet_public_list_expires_timestamp_seconds When the signature of a list that players get ends, in Unix time.'
	echo '# TYPE collet_public_list_expires_timestamp_seconds gauge'
	printf '%s' "$json" | jq -r --arg url "$url" '.lists[]? | "collet_public_list_expires_timestamp_seconds{url=\"\($url)\",list=\"\(.list)\"} \(.expires_unix)"'
} >"$out.new" && mv "$out.new" "$out"
