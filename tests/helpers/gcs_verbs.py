"""The requests that each verb of a store sends to GCS."""

from tests.helpers.store_verbs import verbs_of

INSERT, GET, READ, LIST = "objects.insert", "objects.get", "objects.read", "objects.list"
REWRITE, DELETE = "objects.rewrite", "objects.delete"
BEGIN, SEND = "uploads.begin", "uploads.send"
PUBLISH = (REWRITE, GET, DELETE)
VERBS = verbs_of(
    {
        "create": (INSERT,),
        "replace_tagged": (INSERT,),
        "stage": (INSERT,),
        "stage_large": (BEGIN, SEND),
        "publish": PUBLISH,
        "publish_all": PUBLISH,
        "discard": (DELETE,),
        "delete": (DELETE,),
        "delete_all": (DELETE,),
        "look": (GET,),
        "list_objects": (LIST,),
        "list_staged": (LIST,),
        "open_read": (READ, GET),
        "read": (READ,),
        "head": (GET,),
    }
)
