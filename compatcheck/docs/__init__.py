"""Documentation generated from the matrix: pages, the explorer, and regions of other people's Markdown.

Every verdict printed here comes from the resolver; templates render and decide nothing.
"""
