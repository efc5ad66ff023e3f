"""Every failure of a call to HDFS: an answer, a refusal, nothing happened, or nobody knows."""

import pytest

from penstock.ports.store.hdfs.hdfs_failures import Kind, NoAnswerInTime, ShortRead, judge

HADOOP, FS, HDFS = "org.apache.hadoop", "org.apache.hadoop.fs", "org.apache.hadoop.hdfs.protocol"
NAME_NODE = "org.apache.hadoop.hdfs.server.namenode"
STACK = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.X.y(X.java:1)\\n\\tat java.base/Z\\n"
PLAIN_STACK = "\n\tat org.apache.hadoop.hdfs.server.namenode.X.y(X.java:1)\n"

ANSWERS = {
    f"{FS}.FileAlreadyExistsException": Kind.TAKEN,
    f"{HDFS}.AlreadyBeingCreatedException": Kind.TAKEN,
    "java.io.FileNotFoundException": Kind.ABSENT,
    f"{FS}.ParentNotDirectoryException": Kind.NOT_A_DIRECTORY,
    f"{FS}.PathIsNotDirectoryException": Kind.NOT_A_DIRECTORY,
    f"{FS}.PathIsNotEmptyDirectoryException": Kind.NOT_EMPTY,
    f"{HADOOP}.security.AccessControlException": Kind.REFUSED,
    f"{HADOOP}.security.authorize.AuthorizationException": Kind.REFUSED,
    f"{HADOOP}.security.token.SecretManager$InvalidToken": Kind.REFUSED,
    "javax.security.sasl.SaslException": Kind.REFUSED,
    f"{HDFS}.NSQuotaExceededException": Kind.REFUSED,
    f"{HDFS}.DSQuotaExceededException": Kind.REFUSED,
    f"{HDFS}.QuotaByStorageTypeExceededException": Kind.REFUSED,
    f"{HDFS}.FSLimitException$PathComponentTooLongException": Kind.REFUSED,
    f"{HDFS}.FSLimitException$MaxDirectoryItemsExceededException": Kind.REFUSED,
    f"{FS}.InvalidPathException": Kind.REFUSED,
    f"{HADOOP}.HadoopIllegalArgumentException": Kind.REFUSED,
    "java.lang.IllegalArgumentException": Kind.REFUSED,
    "java.lang.UnsupportedOperationException": Kind.REFUSED,
    f"{HDFS}.SnapshotException": Kind.REFUSED,
    f"{HADOOP}.ipc.RpcNoSuchMethodException": Kind.REFUSED,
    f"{HADOOP}.ipc.RpcNoSuchProtocolException": Kind.REFUSED,
    f"{NAME_NODE}.SafeModeException": Kind.UNSENT,
    f"{HADOOP}.ipc.StandbyException": Kind.UNSENT,
    f"{HADOOP}.ipc.ObserverRetryOnActiveException": Kind.UNSENT,
    f"{HADOOP}.ipc.RetriableException": Kind.UNSENT,
    f"{HADOOP}.ipc.ServerTooBusyException": Kind.UNSENT,
    f"{NAME_NODE}.NotReplicatedYetException": Kind.UNSENT,
    f"{NAME_NODE}.LeaseExpiredException": Kind.UNSENT,
    f"{HDFS}.RecoveryInProgressException": Kind.UNSENT,
    "java.io.IOException": Kind.LOST,
    "java.lang.NullPointerException": Kind.LOST,
}
WORDS = {
    "Source /a/b and destination /a must both be directories": Kind.TAKEN,
    "create: Pathname too long.  Limit 8000 characters, 1000 levels.": Kind.REFUSED,
    "File /a could only be written to 0 of the 1 minReplication nodes": Kind.UNSENT,
    "rename source /a is not found.": Kind.ABSENT,
}
OF_THE_CLIENT: dict[Exception, Kind] = {
    FileExistsError(f"rename destination /a already exists{PLAIN_STACK}"): Kind.TAKEN,
    FileNotFoundError("/a"): Kind.ABSENT,
    IsADirectoryError("/a"): Kind.ABSENT,
    ConnectionRefusedError("Connection refused (os error 111)"): Kind.UNSENT,
    OSError("No route to host (os error 113)"): Kind.UNSENT,
    OSError("Network is unreachable (os error 101)"): Kind.UNSENT,
    OSError("failed to lookup address information: Name or service not known"): Kind.UNSENT,
    OSError("Connection reset by peer (os error 104)"): Kind.LOST,
    OSError("RPC listener disconnected"): Kind.LOST,
    OSError("Broken pipe (os error 32)"): Kind.LOST,
    OSError("unexpected end of file"): Kind.LOST,
    NoAnswerInTime(10.0): Kind.LOST,
    ShortRead(0, 7): Kind.LOST,
    NotImplementedError("erasure coded writes"): Kind.REFUSED,
    ValueError("a path with NUL"): Kind.REFUSED,
    RuntimeError('InvalidArgument("No NameNode hosts found")'): Kind.REFUSED,
    RuntimeError('UrlParseError(RelativeUrlWithoutBase)'): Kind.REFUSED,
    RuntimeError('SASLError("Kerberos authentication failed")'): Kind.REFUSED,
    RuntimeError('GSSAPIError(GSS_S_FAILURE, 0, "No credentials")'): Kind.REFUSED,
    RuntimeError("NoSASLMechanism"): Kind.REFUSED,
    RuntimeError('DataTransferError("Not enough valid nodes")'): Kind.LOST,
    RuntimeError('OperationFailed("Failed to complete file in time")'): Kind.LOST,
    RuntimeError("ChecksumError"): Kind.LOST,
    RuntimeError("Panic(called `Option::unwrap()` on a `None` value)"): Kind.LOST,
    RuntimeError("words that nobody has seen before"): Kind.LOST,
}  # fmt: skip


@pytest.mark.parametrize(("java_class", "kind"), ANSWERS.items())
@pytest.mark.parametrize("fatal", ["", "Fatal"])
def test_an_answer_of_the_name_node_is_told_by_its_class(
    java_class: str, kind: Kind, fatal: str
) -> None:
    error = RuntimeError(f'{fatal}RPCError("{java_class}", "Cannot \\"do\\" it.{STACK}")')
    failure = judge(error, "nn:8020")
    assert failure.kind is kind
    short = java_class.rpartition(".")[2].rpartition("$")[2]
    assert f'nn:8020 answered {short}: Cannot "do" it' in failure.why
    assert "java" not in failure.why.partition(": ")[2]


@pytest.mark.parametrize(("words", "kind"), WORDS.items())
def test_an_answer_without_a_class_of_its_own_is_told_by_its_words(words: str, kind: Kind) -> None:
    failure = judge(RuntimeError(f'RPCError("java.io.IOException", "{words}{STACK}")'), "nn:8020")
    assert failure.kind is kind
    assert " ".join(words.split()).rstrip(".") in failure.why


@pytest.mark.parametrize(("error", "kind"), OF_THE_CLIENT.items(), ids=str)
def test_what_the_client_says_is_told_by_what_it_raises(error: Exception, kind: Kind) -> None:
    failure = judge(error, "nn:8020")
    assert failure.kind is kind
    assert "nn:8020" in failure.why or kind is Kind.REFUSED
    assert "\n" not in failure.why


def test_a_missing_right_says_what_to_do() -> None:
    text = 'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied")'
    why = judge(RuntimeError(text), "nn").why
    assert why.endswith("give this user rights on the lake's directory")


def test_a_name_service_that_no_file_explains_says_where_it_has_to_stand() -> None:
    why = judge(RuntimeError('InvalidArgument("No NameNode hosts found")'), "lakes").why
    assert why.startswith("lakes is neither a name node with its port")
    assert "HADOOP_CONF_DIR" in why


def test_a_long_answer_is_cut() -> None:
    assert len(judge(RuntimeError(f'RPCError("a.B", "{"x" * 5_000}")'), "nn").why) < 300


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (f"/lakes/a/b (is not a directory){STACK}", Kind.NOT_A_DIRECTORY),
        (f"Permission denied: user=ann, access=EXECUTE, inode=/a (is not a){STACK}", Kind.REFUSED),
    ],
)
def test_where_rights_are_checked_a_file_on_the_way_is_no_lack_of_rights(
    said: str, kind: Kind
) -> None:
    failure = judge(
        RuntimeError(f'RPCError("{HADOOP}.security.AccessControlException", "{said}")'), "nn:1"
    )
    assert failure.kind is kind
    assert ("rights" in failure.why) == (kind is Kind.REFUSED)
