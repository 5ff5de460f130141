#!/bin/sh
# All transcripts; `tests/sim/story --regenerate FILE...` writes them anew after a wanted change: read the diff.
exec "${RV_BUILD:-.}/tests/sim/story" "${RV_SRC:-.}"/tests/sim/stories/*.txt
