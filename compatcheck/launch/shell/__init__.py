"""Shell text into commands: words, variables, branches, loops, functions and subshells. Nothing is run."""
