"""Certificates for tests: an authority of one's own, and what it signs, as files in PEM.

    ca = Authority(directory, "ca")
    ca.sign("broker", "127.0.0.1", "localhost")
    ...ca.path, ca.path_of("broker")...

The file of a certificate has its key before it, without a password: what Kafka takes as a key store
of type PEM, and Python's `ssl` as a chain.
"""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_PEM = serialization.Encoding.PEM
_BEFORE = timedelta(days=30)
_AFTER = timedelta(days=30)
_OTHER_USES = dict.fromkeys(
    ("content_commitment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)


class Authority:
    """A certificate authority. Its certificate is in `path`."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = _named(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.path = directory / f"{name}.pem"
        signed = self._signed(self._name, self._key.public_key(), [], _AFTER, is_authority=True)
        self.path.write_bytes(signed.public_bytes(_PEM))

    def sign(self, name: str, *hosts: str, valid: timedelta = _AFTER) -> Path:
        """The file with the key and the certificate of `name`, which is valid for these hosts.

        A negative `valid` is a certificate that has expired so long ago.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(_named(name), key.public_key(), hosts, valid, is_authority=False)
        secret = key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self.path_of(name)
        path.touch(mode=0o600)
        path.write_bytes(secret + signed.public_bytes(_PEM))
        return path

    def path_of(self, name: str) -> Path:
        """Where the certificate of `name` is."""
        return self._directory / f"{name}.pem"

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        hosts: tuple[str, ...] | list[str],
        valid: timedelta,
        *,
        is_authority: bool,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        use = x509.KeyUsage(
            digital_signature=True,
            key_encipherment=not is_authority,
            key_cert_sign=is_authority,
            crl_sign=is_authority,
            **_OTHER_USES,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + valid)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(use, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([_host(each) for each in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
