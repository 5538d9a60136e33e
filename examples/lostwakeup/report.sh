#!/bin/sh
# Records the lost wake-up, good and bad, and writes both with their story as
# one HTML file that opens in any browser: lostwakeup.html, or what is named.
set -eu
case ${1-} in
	/*) out=$1 ;;
	*) out=$PWD/${1:-lostwakeup.html} ;;
esac
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
go run ./examples/lostwakeup/record "$dir"
go run ./cmd/mirador report -o "$out" --story examples/lostwakeup/story.md "$dir/good.trace" "$dir/bad.trace"
echo "$out"
