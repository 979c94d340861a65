# Prints what zsh offers when the tab key is pressed behind each line, and "=" after it: completions.zsh FOLDER LINE...
# FOLDER has the completion _spoor. A second zsh in a pseudo-terminal completes, and prints each word that it would
# offer, a line each, between BEGIN and END.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; stty -echo columns 500
compadd() {
    [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || { builtin compadd -A offered \"\$@\"; print -l -r -- \$offered; }
    builtin compadd \"\$@\"
}
print_offers() { print -r -- BEGIN; _main_complete \"\$@\"; print -r -- END; }
zle -C print-offers complete-word print_offers
bindkey '^I' print-offers"
for typed in "${@:2}"; do
    zpty -w -n shell $'\C-u'"$typed"$'\t'
    begun=0
    while zpty -r shell line; do
        line=${line%$'\r\n'}
        [[ $line == *END ]] && break
        ((begun)) && print -r -- "$line"
        [[ $line == *BEGIN ]] && begun=1
    done
    print =
done
zpty -d shell
