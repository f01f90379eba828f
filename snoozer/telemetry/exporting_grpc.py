"""OTLP by gRPC. Imported only if a signal's protocol is `grpc`: the extra `snoozer[grpc]` installs what it needs."""

from importlib import import_module
from pathlib import Path
from typing import Any

import grpc

from snoozer.telemetry.configuration import GRPC_PACKAGE, SignalConfig


def exporter(module: str, name: str, config: SignalConfig, **more: Any) -> Any:
    """The exporter of one signal. Without TLS for http://, or for no scheme if INSECURE is true."""
    insecure = config.endpoint.startswith("http://") or ("://" not in config.endpoint and config.insecure)
    return getattr(import_module(f"{GRPC_PACKAGE}.{module}_exporter"), name)(
        endpoint=config.endpoint,
        insecure=insecure,
        credentials=None if insecure else _credentials(config),
        headers=[(key.lower(), value) for key, value in config.headers.items()],
        timeout=config.timeout,
        compression=grpc.Compression.Gzip if config.is_compressed else grpc.Compression.NoCompression,
        **more,
    )


def _credentials(config: SignalConfig) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=_read(config.certificate),
        private_key=_read(config.client_key),
        certificate_chain=_read(config.client_certificate),
    )


def _read(path: str | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()
