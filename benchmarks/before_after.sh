#!/usr/bin/env bash
# Two versions of regard side by side on one GPU: what a change of the code base may not change.
#   git archive OLD src benchmarks | tar x -C old; git archive NEW src benchmarks | tar x -C new
#   bash benchmarks/before_after.sh OLD_TREE NEW_TREE MULTI30K SNLI OUT "options of OLD" "options of NEW"
# Each tree runs its own benchmark scripts; all trainings share the GPU, then speed and decoding run alone, in turns.
# The last two arguments switch the source dropout of the Transformer off, which has another name in older versions.
set -euo pipefail
trees=("$1" "$2") m=$3 s=$4 out=$5 off=("$6" "$7")
mkdir -p "$out"
transformer="encoder=transformer encoder.positions=rotary encoder.dropout=0.2 decoder=transformer
  decoder.positions=rotary decoder.dropout=0.2 attention.score=scaled_dot"
snli="data.train=$s/train.tsv.gz data.valid=$s/dev.tsv.gz data.test=$s/test.tsv.gz data.source=2,3 data.target=1
  train.auto=false train.epochs=3 train.seed=1"
one() { # tree, name, command
  local tree=${trees[$1]} name=$1-$2
  shift 2
  (cd "$tree/benchmarks" && PYTHONPATH=$tree/src:${PYTHONPATH:-} "$@" >"$out/$name.txt" 2>&1)
}
for t in 0 1; do
  one $t gru python translate.py train "$m" --run "$out/$t-gru" train.time=250s &
  one $t transformer python translate.py train "$m" --run "$out/$t-tr" $transformer "${off[$t]}" train.time=250s &
  for e in bilstm resan; do one $t "snli-$e" python -m regard train entail --out "$out/$t-$e" encoder=$e $snli & done
done
wait
for round in 1 2 3; do for t in 0 1; do
  one $t "speed-$round" python translate.py speed "$m" --steps 150
  one $t "decode-$round" python translate.py decode "$m" --run "$out/$t-gru"
done; done
grep -H "bleu:\|tokens_per_second\|seconds_\|accuracy" "$out"/*.txt
