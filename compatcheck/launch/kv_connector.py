"""The KV connector of --kv-transfer-config: what its class refuses, and which names a release registers.

Sources: vllm/config/kv_transfer.py:KVTransferConfig and
vllm/distributed/kv_transfer/kv_connector/factory.py:KVConnectorFactory@0.18.1 to @0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.matrix.versions import parse

_ALWAYS = frozenset(
    {
        "DecodeBenchConnector",
        "ExampleConnector",
        "ExampleHiddenStatesConnector",
        "FlexKVConnectorV1",
        "LMCacheConnectorV1",
        "LMCacheMPConnector",
        "MoRIIOConnector",
        "MooncakeConnector",
        "MultiConnector",
        "NixlConnector",
        "OffloadingConnector",
    }
)
_SINCE = {
    "SimpleCPUOffloadConnector": "0.19.0",
    "HF3FSKVConnector": "0.20.0",
    "MooncakeStoreConnector": "0.21.0",
    "NixlPullConnector": "0.24.0",
    "NixlPushConnector": "0.24.0",
    "HiSparseConnector": "0.30.0",
}
_UNTIL = {"P2pNcclConnector": "0.24.0"}


def connector_problem(config: Mapping[str, Any]) -> str | None:
    """Return what the configuration class refuses about the connector, in every covered release."""
    name = config.get("kv_connector")
    if name is not None and not isinstance(name, str):
        return f"kv_connector has to be text, found {name!r:.60}"
    if name is not None and config.get("kv_role") is None:
        return "kv_role has to be given together with kv_connector"
    return None


def unregistered(config: Mapping[str, Any], release: str) -> str | None:
    """Return the name of a connector that the release does not register itself and no module path leads to.

    A plugin may register it; without one the engine stops at it.
    """
    name = config.get("kv_connector")
    if not isinstance(name, str) or config.get("kv_connector_module_path") or name in _ALWAYS:
        return None
    since, until = _SINCE.get(name), _UNTIL.get(name)
    here = parse(release)
    known = (since is not None and parse(since) <= here) or (until is not None and here < parse(until))
    return None if known else name
