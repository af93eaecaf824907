"""Certificates and keys for a trial or a small federation; needs the package `cryptography`.

A certificate authority that signs one server, and one key pair for each node. For a federation that
lasts, use the certificates that your organisations have anyway.
"""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accountants import validate

if TYPE_CHECKING:
    from cryptography import x509

_DAYS = 365


def make_server_keys(folder: Path, hosts: Sequence[str]) -> None:
    """Writes `ca.pem`, `server.pem` and `server.key`; the authority's own key is thrown away.

    Args:
      folder: Where to.
      hosts: The names and addresses under which the server is reached.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    named: tuple[str, ...] = validate.sequence("hosts", hosts, validate.text, least=1)
    authority, server = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    issuer = _name("dp-assay federation")
    now = datetime.datetime.now(datetime.UTC)

    def certificate(subject: Any, key: Any, *extensions: tuple[Any, bool]) -> "x509.Certificate":
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False
            )
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority, hashes.SHA384())

    signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    names = x509.SubjectAlternativeName([_host(host) for host in named])
    own = certificate(issuer, authority, (x509.BasicConstraints(True, 0), True), (signs, True))
    signed = certificate(
        _name(named[0]), server, (x509.BasicConstraints(False, None), True), (names, False)
    )
    (folder / "ca.pem").write_bytes(own.public_bytes(Encoding.PEM))
    (folder / "server.pem").write_bytes(signed.public_bytes(Encoding.PEM))
    _write_private(folder / "server.key", server, ssh=False)


def make_node_key(folder: Path) -> None:
    """Writes `node.key` and `node.pub`, by which Flower's server knows a node."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = ec.generate_private_key(ec.SECP384R1())
    _write_private(folder / "node.key", key, ssh=True)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (folder / "node.pub").write_bytes(public + b"\n")


def _name(common: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_private(path: Path, key: Any, *, ssh: bool) -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    form = PrivateFormat.OpenSSH if ssh else PrivateFormat.PKCS8
    content = key.private_bytes(Encoding.PEM, form, NoEncryption())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
