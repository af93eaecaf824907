"""The cryptography that the protocol stands on; the one place that imports `cryptography`.

`Ciphers` is what the protocol asks for, so that tests can put small fields and counted randomness
in its place; `StandardCiphers` is what everybody else uses.
"""

import secrets
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mechanisms.federated.aggregation.terms import Word, word_of


class KeyPair(NamedTuple):
    """A private key as a number below 2^256, and its public key."""

    private: int
    public: bytes

    def __repr__(self) -> str:
        return f"KeyPair(private=…, public={self.public.hex()})"


class Ciphers(Protocol):
    """What the protocol needs."""

    @property
    def prime(self) -> int:
        """Of the field in which secrets are shared; above all secrets."""
        ...

    def randbelow(self, below: int) -> int:
        """A uniform number in [0, below)."""
        ...

    def seed(self) -> int:
        """The secret seed of a client's own mask."""
        ...

    def key_pair(self) -> KeyPair:
        """For key agreement."""
        ...

    def public(self, private: int) -> bytes:
        """The public key of a private one."""
        ...

    def agree(self, private: int, public: bytes, purpose: bytes) -> bytes:
        """The key that two parties share for one purpose."""
        ...

    def own_key(self, seed: int, purpose: bytes) -> bytes:
        """The key of a client's own mask."""
        ...

    def mask(self, key: bytes, dimension: int, bits: int) -> npt.NDArray[Word]:
        """Numbers modulo 2^bits that nobody without the key can tell from uniform ones."""
        ...

    def seal(self, key: bytes, plain: bytes, about: bytes) -> bytes:
        """Encrypts and authenticates; each key is used once."""
        ...

    def unseal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        """Raises a `ValueError` for anything that `seal` has not made with this key."""
        ...

    def identity(self) -> KeyPair:
        """For signatures."""
        ...

    def sign(self, private: int, content: bytes) -> bytes:
        """A signature."""
        ...

    def verify(self, public: bytes, signature: bytes, content: bytes) -> bool:
        """Whether the signature is the key owner's."""
        ...


_KEY_BYTES = 32
MOST_SECRET = 2 ** (8 * _KEY_BYTES)
"""Secrets are below."""


class StandardCiphers:
    """X25519, HKDF-SHA256, ChaCha20, ChaCha20-Poly1305 and Ed25519, by `cryptography`.

    Every key comes out of HKDF with a purpose that names the session, the two parties and the
    direction; so a key is used once and nonces may be zero. A mask is the whole stream of a 256-bit
    key: nothing is folded.
    """

    prime = MOST_SECRET + 297
    """The first prime after 2^256, so that keys of 32 bytes are elements."""

    def randbelow(self, below: int) -> int:
        """From the operating system."""
        return secrets.randbelow(below)

    def seed(self) -> int:
        """256 bits."""
        return secrets.randbits(8 * _KEY_BYTES)

    def key_pair(self) -> KeyPair:
        """A new X25519 key."""
        private = secrets.randbits(8 * _KEY_BYTES)
        return KeyPair(private, self.public(private))

    def public(self, private: int) -> bytes:
        """X25519 of the base point."""
        from cryptography.hazmat.primitives.asymmetric import x25519

        key = x25519.X25519PrivateKey.from_private_bytes(private.to_bytes(_KEY_BYTES, "little"))
        return key.public_key().public_bytes_raw()

    def agree(self, private: int, public: bytes, purpose: bytes) -> bytes:
        """HKDF of the X25519 secret; points of small order are a `ValueError`."""
        from cryptography.hazmat.primitives.asymmetric import x25519

        own = x25519.X25519PrivateKey.from_private_bytes(private.to_bytes(_KEY_BYTES, "little"))
        secret = own.exchange(x25519.X25519PublicKey.from_public_bytes(public))
        return self._derive(secret, b"pair " + purpose)

    def own_key(self, seed: int, purpose: bytes) -> bytes:
        """HKDF of the seed."""
        return self._derive(seed.to_bytes(_KEY_BYTES, "little"), b"own " + purpose)

    def _derive(self, secret: bytes, purpose: bytes) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(
            algorithm=SHA256(), length=_KEY_BYTES, salt=b"dp-assay aggregation 1", info=purpose
        ).derive(secret)

    def mask(self, key: bytes, dimension: int, bits: int) -> npt.NDArray[Word]:
        """The ChaCha20 stream as words, the low bits of each."""
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        word = word_of(bits)
        stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
        zeros = bytes(dimension * word.itemsize)
        words: npt.NDArray[Word] = np.frombuffer(stream.update(zeros), dtype=word)
        return words if bits == 8 * word.itemsize else words & word.type(2**bits - 1)

    def seal(self, key: bytes, plain: bytes, about: bytes) -> bytes:
        """ChaCha20-Poly1305."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        return ChaCha20Poly1305(key).encrypt(bytes(12), plain, about)

    def unseal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        """The plain text, if key, content and what it is about belong together."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        try:
            return ChaCha20Poly1305(key).decrypt(bytes(12), content, about)
        except InvalidTag:
            raise ValueError("a sealed share was altered, or sealed for another") from None

    def identity(self) -> KeyPair:
        """A new Ed25519 key."""
        from cryptography.hazmat.primitives.asymmetric import ed25519

        private = secrets.token_bytes(_KEY_BYTES)
        key = ed25519.Ed25519PrivateKey.from_private_bytes(private)
        public = key.public_key().public_bytes_raw()
        return KeyPair(int.from_bytes(private, "little"), public)

    def sign(self, private: int, content: bytes) -> bytes:
        """Ed25519."""
        from cryptography.hazmat.primitives.asymmetric import ed25519

        key = ed25519.Ed25519PrivateKey.from_private_bytes(private.to_bytes(_KEY_BYTES, "little"))
        return key.sign(content)

    def verify(self, public: bytes, signature: bytes, content: bytes) -> bool:
        """Ed25519."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519

        try:
            ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True
