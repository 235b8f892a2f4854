"""From words to rules: every entry of the matrix that can be explained, and which of them a text fits."""
