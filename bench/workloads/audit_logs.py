"""Audit logs of a cloud: 2 to 3 KB, five levels deep, ISO times with Z.

Requests and answers differ by service, and many of their fields are optional or null.
"""

from datetime import UTC, datetime

from bench.workloads.dice import Dice
from bench.workloads.json_writers import Json, written

CALLS = {
    "storage": ("GetObject", "PutObject", "DeleteObject", "ListObjects"),
    "compute": ("RunInstances", "StopInstances", "DescribeInstances"),
    "identity": ("AssumeRole", "CreateAccessKey", "ListUsers"),
    "database": ("CreateSnapshot", "ModifyInstance"),
    "functions": ("Invoke", "UpdateCode"),
    "keys": ("Decrypt", "GenerateDataKey"),
    "network": ("AuthorizeIngress", "DescribeSubnets"),
}
_SERVICES = tuple(CALLS)
_REGIONS = ("eu-central-1", "eu-north-1", "us-east-1", "ap-south-1")
_AGENTS = (
    "cloud-cli/2.17 Python/3.12 Linux/6.8",
    "terraform/1.9 (+https://tf.example/)",
    "console",
)


def audit_log(number: int) -> bytes:
    """The entry with this number."""
    dice = Dice(number, 3)
    service = dice.pick(_SERVICES)
    account, region = f"{dice.bits(36):012}", dice.pick(_REGIONS)
    failed = dice.one_in(12)
    entry: dict[str, object] = {
        "eventVersion": "1.09",
        "userIdentity": _identity(dice, account),
        "eventTime": iso_text(dice.time_ms()),
        "eventSource": service,
        "eventName": dice.pick(CALLS[service]),
        "awsRegion": region,
        "sourceIPAddress": dice.address(),
        "userAgent": dice.pick(_AGENTS),
        "requestParameters": _request(dice, service, account, region),
        "responseElements": None if failed or dice.one_in(2) else _answer(dice, service),
        "additionalEventData": {
            "SignatureVersion": "SigV4",
            "CipherSuite": "TLS_AES_128_GCM_SHA256",
            "bytesTransferredIn": dice.up_to(90_000),
            "bytesTransferredOut": dice.up_to(90_000),
            "AuthenticationMethod": "AuthHeader",
            "x-id-2": dice.hex(96),
        },
        "requestID": dice.hex(16).upper(),
        "eventID": dice.uuid(),
        "readOnly": dice.one_in(2),
        "resources": [_resource(dice, service, account) for _ in range(dice.between(1, 3))],
        "eventType": "ApiCall",
        "managementEvent": dice.one_in(2),
        "recipientAccountId": account,
        "vpcEndpointId": f"vpce-{dice.hex(17)}" if dice.one_in(3) else None,
        "eventCategory": "Data",
        "tlsDetails": {
            "tlsVersion": "TLSv1.3",
            "cipherSuite": "TLS_AES_128_GCM_SHA256",
            "clientProvidedHostHeader": f"{service}.{region}.cloud.example",
        },
    }
    if failed:
        entry["errorCode"] = dice.pick(("AccessDenied", "Throttling", "NoSuchKey"))
        entry["errorMessage"] = f'User: "{dice.hex(8)}" is not authorized to perform: {service}/*'
    return written(entry, dice)


def iso_text(at_ms: int) -> str:
    """A time as these logs have it."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _identity(dice: Dice, account: str) -> Json:
    role = f"role-{dice.up_to(60)}"
    identity: dict[str, object] = {
        "type": "AssumedRole",
        "principalId": f"{dice.hex(21).upper()}:{role}",
        "arn": f"arn:cloud:sts::{account}:assumed-role/{role}/{dice.hex(8)}",
        "accountId": account,
        "accessKeyId": dice.hex(20).upper(),
    }
    if not dice.one_in(4):
        identity["sessionContext"] = {
            "sessionIssuer": {
                "type": "Role",
                "principalId": dice.hex(21).upper(),
                "arn": f"arn:cloud:iam::{account}:role/{role}",
                "accountId": account,
                "userName": role,
            },
            "webIdFederationData": {},
            "attributes": {
                "creationDate": iso_text(dice.time_ms()),
                "mfaAuthenticated": "false",
            },
        }
    if dice.one_in(3):
        identity["invokedBy"] = "scaling.cloud.example"
    return identity


def _request(dice: Dice, service: str, account: str, region: str) -> Json:
    if service == "storage":
        return {
            "bucketName": f"logs-{account}-{region}",
            "Host": f"logs-{account}.storage.{region}.cloud.example",
            "key": f"raw/year=2026/{dice.hex(12)}/größe-{dice.up_to(999)}.json.gz",
            "range": f"bytes={dice.up_to(9_000)}-" if dice.one_in(3) else None,
        }
    if service == "compute":
        groups = [{"groupId": f"sg-{dice.hex(17)}"} for _ in range(dice.between(1, 3))]
        machine = {"imageId": f"ami-{dice.hex(17)}", "minCount": 1, "maxCount": dice.between(1, 9)}
        return {
            "instancesSet": {"items": [machine for _ in range(dice.between(1, 2))]},
            "instanceType": dice.pick(("m7.large", "c7.xlarge")),
            "blockDeviceMapping": {},
            "networkInterfaceSet": {"items": [{"deviceIndex": 0, "groupSet": {"items": groups}}]},
            "tagSpecificationSet": {"items": [{"tags": _tags(dice)}]},
        }
    if service == "identity":
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s/*"}]}'
        return {"roleArn": f"arn:cloud:iam::{account}:role/r", "policy": policy, "tags": []}
    return {
        "name": f"{service}-{dice.hex(10)}",
        "encryptionContext": {"service": service, "tenant": dice.hex(8)},
        "maxItems": dice.between(10, 1_000) if dice.one_in(2) else None,
        "tags": _tags(dice),
    }


def _answer(dice: Dice, service: str) -> Json:
    return {
        "requestId": dice.uuid(),
        "x-server": {"node": f"{service}-{dice.up_to(90)}", "cached": dice.one_in(2)},
        "credentials": {"sessionToken": dice.hex(180), "expiration": iso_text(dice.time_ms())},
        "items": [{"id": dice.hex(17), "state": {"code": dice.up_to(80)}} for _ in range(2)],
    }


def _resource(dice: Dice, service: str, account: str) -> Json:
    return {
        "type": f"Cloud::{service}::Thing",
        "ARN": f"arn:cloud:{service}:::{dice.hex(24)}/*",
        "accountId": account if dice.one_in(2) else None,
    }


def _tags(dice: Dice) -> list[Json]:
    names = ("team", "cost/center", "env")
    return [{"key": name, "value": dice.hex(6)} for name in names[: dice.between(1, 3)]]
