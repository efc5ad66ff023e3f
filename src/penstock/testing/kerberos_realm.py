"""A real Kerberos realm on loopback: MIT's key server as a child process, principals and keytabs.

    with KerberosRealm(directory, packages) as realm:
        keytab = realm.add("penstock", ticket_life_s=10)
        ...programs with realm.environment, JVMs with realm.java_options...

Its programs are those of Debian's packages krb5-kdc, krb5-admin-server and krb5-user: installed, or
only unpacked below the directory `packages`, which starts no service and needs no rights.
"""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from penstock.testing.one_port_server import OnePortServer
from penstock.testing.servers import LOOPBACK

REALM = "PENSTOCK.TEST"
READY_TIMEOUT_S = 30.0

_TOOL_TIMEOUT_S = 60.0
_ANSWER_TIMEOUT_S = 1.0
_PROGRAMS = ("usr/sbin", "usr/bin")
_PASSWORD = "not-a-secret-of-anybody"  # noqa: S105  -- of a database that lives as long as a test

_CLIENT_FILE = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = {address}
  }}
[domain_realm]
  localhost = {realm}
[logging]
  kdc = FILE:{directory}/kdc.log
{plugins}"""
_SERVER_FILE = """\
[kdcdefaults]
  kdc_listen = {address}
  kdc_tcp_listen = {address}
[realms]
  {realm} = {{
    database_name = {directory}/principals
    key_stash_file = {directory}/stash
    acl_file = {directory}/acl
    max_life = 10h
    max_renewable_life = 1d
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
  }}
"""


class KerberosRealm(OnePortServer):
    """One realm. It keeps its principals; while it is down, tickets that were given stay valid."""

    def __init__(self, directory: Path, packages: Path | None = None) -> None:
        super().__init__(directory, "the key server", "kdc.log", READY_TIMEOUT_S)
        self._packages = packages

    @property
    def config(self) -> Path:
        """The file that tells programs of this realm."""
        return self._directory / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        """With these variables, the Kerberos library of a process asks this realm."""
        return {"KRB5_CONFIG": str(self.config)}

    @property
    def java_options(self) -> tuple[str, ...]:
        """With these options, a JVM does."""
        return (f"-Djava.security.krb5.conf={self.config}",)

    def keytab_of(self, name: str) -> Path:
        """The file with the keys of a principal that was added."""
        return self._directory / f"{name.replace('/', '.')}.keytab"

    def add(self, name: str, *, ticket_life_s: int | None = None) -> Path:
        """Create a principal with a random key; the keytab with it. Tickets live ten hours."""
        life = [] if ticket_life_s is None else ["-maxlife", f"{ticket_life_s} seconds"]
        self._administer("addprinc", "-randkey", *life, name)
        return self.export(name, self.keytab_of(name))

    def export(self, name: str, keytab: Path) -> Path:
        """Add the present key of a principal to a keytab."""
        self._administer("ktadd", "-norandkey", "-k", str(keytab), name)
        return keytab

    def change_key(self, name: str) -> None:
        """Give a principal another key: keytabs of before are worthless."""
        self._administer("cpw", "-randkey", name)

    def remove(self, name: str) -> None:
        """Let there be no such principal. Its keytab stays where it is."""
        self._administer("delprinc", "-force", name)

    def log_in(self, name: str, cache: Path) -> None:
        """Get a ticket with the keytab of a principal, into a file for `KRB5CCNAME`: kinit."""
        self._run("kinit", "-k", "-t", str(self.keytab_of(name)), "-c", f"FILE:{cache}", name)

    def command(self) -> list[str]:
        """The key server, with its configuration and, the first time, a new database."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._write_config()
        if not (self._directory / "principals").exists():
            self._run("kdb5_util", "create", "-s", "-P", _PASSWORD)
        return [*self._program("krb5kdc"), "-n"]

    def answers(self) -> bool:
        """Whether something listens there."""
        try:
            with socket.create_connection((LOOPBACK, self._port), timeout=_ANSWER_TIMEOUT_S):
                return True
        except OSError:
            return False

    def _write_config(self) -> None:
        words = {
            "realm": REALM,
            "address": f"{LOOPBACK}:{self._port}",
            "directory": self._directory,
            "plugins": self._plugins,
        }
        self.config.write_text(_CLIENT_FILE.format(**words))
        (self._directory / "kdc.conf").write_text(_SERVER_FILE.format(**words))

    @property
    def _plugins(self) -> str:
        """Where its database's code is, if not where the packages install it."""
        found = sorted(self._packages.glob("usr/lib/**/krb5/plugins/kdb")) if self._packages else []
        return f"[dbmodules]\n  db_module_dir = {found[0]}\n" if found else ""

    @property
    def _settings(self) -> dict[str, str]:
        """The variables of its own programs."""
        own = self.environment | {"KRB5_KDC_PROFILE": str(self._directory / "kdc.conf")}
        if self._packages is None:
            return own
        libraries = sorted({str(each.parent) for each in self._packages.glob("**/lib*.so.*")})
        return own | {"LD_LIBRARY_PATH": os.pathsep.join(libraries)}

    def _program(self, name: str) -> list[str]:
        """The beginning of a command: a program, and before it the variables that it needs."""
        roots = [Path("/")] if self._packages is None else [self._packages, Path("/")]
        places = [str(root / each) for root in roots for each in _PROGRAMS]
        found = shutil.which(name, path=os.pathsep.join(places)) or shutil.which(name)
        if found is None:
            packages = "krb5-kdc, krb5-admin-server and krb5-user"
            raise FileNotFoundError(f"{name} is missing: install the packages {packages}")
        variables = [f"{variable}={value}" for variable, value in self._settings.items()]
        return ["env", *variables, found]

    def _administer(self, *words: str) -> None:
        self._run("kadmin.local", "-r", REALM, *words)

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(  # noqa: S603 -- tests choose what they run
            [*self._program(program), *words],
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TOOL_TIMEOUT_S,
            text=True,
            check=False,
        )
        # kadmin.local ends with 0 whatever happened, and says so.
        if done.returncode or "while " in done.stdout:
            raise RuntimeError(f"{program} {words} ended with {done.returncode}:\n{done.stdout}")
