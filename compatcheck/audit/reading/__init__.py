"""A partial evaluator of other people's Python: syntax trees in, decision trees out, nothing imported or run."""
