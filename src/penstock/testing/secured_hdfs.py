"""An HDFS with security on: everyone who comes logs in by Kerberos, and data is protected.

    with KerberosRealm(directory / "realm", packages) as realm:
        with secured_hdfs(directory / "hdfs", realm, jars, java) as hdfs:
            give_directory(hdfs, realm, "lakes", "penstock")
            ...hdfs.spec("lakes/shop", keytab=str(realm.add("penstock")))...

Permissions are checked, and its superuser is not the user who runs it: names of its own services
are `SUPERUSER`, all others the first part of their principal. Ports below 1024, which Hadoop asks
of data nodes without TLS, are not asked for: so it can run without rights.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from hdfs_native import Client

from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kerberos_realm import REALM, KerberosRealm

SUPERUSER = "hdfs"
NAME_NODE_PRINCIPAL = "nn/localhost"
PROTECTION = "integrity"

_DATA_NODE_PRINCIPAL = "dn/localhost"
_WEB_PRINCIPAL = "HTTP/localhost"
_CLIENT = {"hadoop.security.authentication": "kerberos"}


@contextlib.contextmanager
def secured_hdfs(
    directory: Path,
    realm: KerberosRealm,
    jars: Sequence[Path],
    java: Path,
    protection: str = PROTECTION,
) -> Iterator[EmbeddedHdfs]:
    """A secured HDFS as long as the block lasts, with the principals of its nodes in the realm."""
    keytab = realm.keytab_of("services")
    for name in (NAME_NODE_PRINCIPAL, _DATA_NODE_PRINCIPAL, _WEB_PRINCIPAL):
        realm.add(name)
        realm.export(name, keytab)
    directory.mkdir(parents=True, exist_ok=True)
    server = EmbeddedHdfs(
        directory,
        jars,
        java,
        _site(keytab, protection),
        _core(),
        quick=True,
        java_options=realm.java_options,
    )
    with server:
        yield server


def give_directory(
    hdfs: EmbeddedHdfs, realm: KerberosRealm, path: str, owner: str, mode: int = 0o750
) -> None:
    """Make a directory and give it to a user, as the superuser."""
    keytab = str(realm.keytab_of(NAME_NODE_PRINCIPAL))
    client = Client(
        hdfs.url, _CLIENT, kerberos_principal=NAME_NODE_PRINCIPAL, kerberos_keytab=keytab
    )
    client.mkdirs(f"/{path}", mode, create_parent=True)
    client.set_owner(f"/{path}", owner, SUPERUSER)


def _core() -> dict[str, str]:
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": "authentication,integrity,privacy",
        "hadoop.security.auth_to_local": f"RULE:[2:$1/$2@$0](.*)s/.*/{SUPERUSER}/\nDEFAULT",
    }


def _site(keytab: Path, protection: str) -> dict[str, str]:
    return {
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": protection,
        "dfs.namenode.kerberos.principal": f"{NAME_NODE_PRINCIPAL}@{REALM}",
        "dfs.datanode.kerberos.principal": f"{_DATA_NODE_PRINCIPAL}@{REALM}",
        "dfs.web.authentication.kerberos.principal": f"{_WEB_PRINCIPAL}@{REALM}",
        "dfs.namenode.keytab.file": str(keytab),
        "dfs.datanode.keytab.file": str(keytab),
        "dfs.web.authentication.kerberos.keytab": str(keytab),
        "dfs.permissions.superusergroup": SUPERUSER,
        "ignore.secure.ports.for.testing": "true",
    }
