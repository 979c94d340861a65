"""bash: subshells, pipes, traps, functions, arrays, job control, here documents, an exit in a trap."""
from real import real_program, which

SCRIPT = r'''
set -o pipefail
declare -A seen
squares() { local i; for ((i = 0; i < $1; i++)); do echo $((i * i)); done; }
fib() { (($1 < 2)) && echo "$1" || echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); }
total=0
while read -r n; do ((total += n)); seen[$((n % 7))]+=" $n"; done < <(squares 50)
echo "$total ${seen[4]}"
echo "fib $(fib 5)"
seq 1 200 | grep 7 | sed 's/7/seven/' | sort -r | head -n 3
(echo in a subshell; cd /; pwd; exit 5)
echo "status $?"
false | true
echo "pipefail $?"
trap 'echo "usr1 during $FUNCNAME"' USR1
interrupted() { kill -USR1 $$; echo after; }
interrupted
trap 'echo error at line' ERR
false
trap - ERR
sleep 5 & sleeper=$!
kill $sleeper
wait $sleeper
echo "sleeper $?"
for i in 1 2 3; do (exit $i) & pids[i]=$!; done
for i in 3 1 2; do wait ${pids[i]}; echo "job $i: $?"; done
cat <<END | tr a-z A-Z
a here document of $BASH_SUBSHELL
END
text="the quick brown fox"
[[ $text =~ q([a-z]+) ]] && echo "${BASH_REMATCH[1]} ${text//o/0} ${text^^}"
printf '%s|%5.2f|%q\n' x 3.14159 'a b'
coproc { read -r line; echo "coproc got $line"; }
exec 7<&"${COPROC[0]}"
echo hello >&"${COPROC[1]}"
read -r answer <&7
echo "$answer"
trap 'echo leaving; exit 42' EXIT
exit 3
'''

real_program([which("bash"), "-c", SCRIPT], status=42, processes=25)
