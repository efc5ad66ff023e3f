"""Which decoder reads the records of a feed."""

from penstock.api.codec import JsonRecords
from penstock.datapath.codec.codecs import codec_of
from penstock.datapath.stage.batch_decoder import BatchDecoder
from penstock.datapath.stage.decode_by_schema import SchemaBatchDecoder
from penstock.datapath.stage.decode_converted import ConvertedBatchDecoder
from penstock.datapath.stage.decode_json import JsonBatchDecoder
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan


def feed_decoder(plan: ShredPlan, placement: Placement, samples: Sampling) -> BatchDecoder:
    """A decoder for one range, by what the codec of the feed offers.

    What it cannot decode before the driver has learned more goes to `samples`.
    """
    codec = codec_of(plan.feed.decode)
    schemas = codec.schemas_for(plan.feed.decode)
    if schemas is not None:
        return SchemaBatchDecoder(plan, codec, schemas, samples)
    records = codec.json or JsonRecords()
    decoder = JsonBatchDecoder(plan, records, placement, samples)
    return decoder if records.convert is None else ConvertedBatchDecoder(records.convert, decoder)
