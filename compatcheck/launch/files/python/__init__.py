"""Python files as syntax trees: scopes, what names hold where they are used, commands and engines that are started."""
