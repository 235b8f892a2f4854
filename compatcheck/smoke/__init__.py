"""Live smoke tests: every declared kernel cell of the local GPU, refusals too, against the matrix.

The parent process never imports torch or FlashInfer: it plans cells (`cells`), keeps workers (`process`), schedules
compilation and execution (`runner`), judges outcomes (`judge`) and writes the evidence (`evidence`). Everything that
touches a GPU happens in `worker`, a process that can be killed.
"""
