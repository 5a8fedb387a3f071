#!/usr/bin/env bash
# Every corpus through its target, without a fuzzer: what once broke something must not break it again.
set -u
cd "$(dirname "$0")/../.."
n=0
for target in tests/fuzz/f_*.c; do
	name=$(basename "${target#tests/fuzz/f_}" .c)
	n=$((n + 1))
	if out=$("${B:-build}/fuzz/f_$name" "tests/fuzz/corpus/$name" 2>&1) && ! grep -q '^not ok' <<<"$out"; then
		echo "ok $n - $name: $(grep -c '^ok' <<<"$out") inputs"
	else
		echo "not ok $n - $name"
		tail -20 <<<"$out" | sed 's/^/# /'
	fi
done
echo "1..$n"
