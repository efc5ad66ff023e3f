"""The commented `penstock.yaml` that a user starts from."""

_EXAMPLE = """\
# What Penstock reads from Kafka, and where it writes it. Check it with `penstock check`.
# Durations: 500ms 30s 5m 1h 2d. Sizes: 512KiB 64MB 1GB. Paths are relative to this file.
# Secrets: only below store, kafka, registry and spark, and as keys in convert, written as
# ${env:NAME} or ${file:path}.
version: 1

# The directory of the lake, s3://bucket/prefix or gs://bucket/prefix; the variable PENSTOCK__LAKE
# wins over it.
lake: ./lake

# What the lake's store needs beyond its address; a directory needs nothing. For s3:// whatever is
# not said here comes from the environment and the files of AWS.
# store:
#   region: eu-central-1
#   endpoint: "http://127.0.0.1:9000"    # another store than AWS
#   path_style: true
#   access_key: "${env:LAKE_KEY}"
#   secret_key: "${env:LAKE_SECRET}"

# Where the journals lie, if the lake's store cannot keep them, and settings of stores by address.
# journal: ./journal
# stores:
#   "s3://other-bucket": {region: us-east-1}

# Settings of Kafka's Java client, passed on unchanged.
kafka:
  bootstrap.servers: "localhost:9092"
  # security.protocol: SASL_SSL
  # sasl.mechanism: SCRAM-SHA-512
  # sasl.jaas.config: >-
  #   org.apache.kafka.common.security.scram.ScramLoginModule required
  #   username="penstock" password="${env:KAFKA_PASSWORD}";

# The schema registry of Avro and Protobuf records, with Confluent's API.
# registry:
#   url: "http://localhost:8081"
#   user: penstock             # or token: "${env:REGISTRY_TOKEN}"
#   password: "${env:REGISTRY_PASSWORD}"
#   ca: /etc/ssl/registry.pem  # your own certificate authority
#   timeout: 10s

# Settings of Spark, passed on unchanged.
spark:
  spark.master: "local[2]"

# How many feeds work at once.
run:
  parallel: 4                  # feeds that read at the same time
  pools: {}                    # slots of named pools, such as {bulk: 1}
  feeds_at_most: null          # share the feeds with other instances; this one owns no more

# What `penstock cost` multiplies by; a price that is not given counts nothing.
# prices:
#   currency: USD
#   task_hour: 0.05            # an hour of one task
#   gb_month: 0.023            # a month of storage of a GB that was written
#   gb_read: 0.01              # a GB that was read
#   thousand_puts: 0.005       # a thousand requests that write
#   million_records: 0.1       # a million records that were read
#   plugin: tiers              # other prices; see docs/plugins.md
#   options: {free_gb: 100}    # of the plug-in

# Keys that every feed inherits; a feed's own key wins.
defaults:
  window:                      # a window ends at the first of these limits
    every: 60s                 # the longest time that records wait
    max_records: 5000000
    max_bytes: 1GB
    max_rate: null             # records per second while catching up
  quarantine:                  # above this share of broken records the feed halts
    max_ratio: 0.05
    min_records: 1000          # smaller windows are not checked
  publish:                     # a dataset whose files cannot be published
    tries: 5                   # is parked after so many tries; the others go on
    retry_after: 15s           # the first pause, which doubles; parked ones are tried again too
    retry_most: 1h             # the longest pause
  compact:                     # small files become large ones: `penstock compact`
    when: off                  # inside a run: hour_closed | day_closed | 1h: at least so often
    target: 256MB              # how large new files become
    min_files: 8               # fewer small files of a directory than this are left
    keep: 1h                   # for readers by snapshots; in plain directories inputs go at once

feeds:
  events:                      # a name: lower-case letters, digits, _ and -
    topics: [events]           # or pattern: 'logs\\..*' with exclude: [logs.debug]
    # source: {plugin: tape}   # a plug-in in place of Kafka; options: {...} beside its name
    # A cluster of its own, over the settings above: kafka: {bootstrap.servers: "other:9092"}
    start: earliest            # earliest | latest | 2026-11-01T00:00:00Z | {events: {0: 1200}}
                               # | {group: NAME} | {file: offsets.csv}
    decode:
      format: json             # json | avro | protobuf | thrift | msgpack | text | raw
      # Avro: schema: FILE.avsc if all records have one schema; else the registry has it
      # JSON: ids: true if records begin with the id of a JSON Schema
      # JSON: spread: true if a value may be an array of events
      # Protobuf: like Avro, with schema: FILE.proto or FILE.desc and message: shop.Click
      # Thrift: schema: FILE.thrift, message: Click, and protocol: binary or compact
      # Text: pattern: '(?P<level>\\w+) (?P<text>.*)', or delimiter: ';' with columns: [a, b]
      # JSON, learned: types: {user.id: string} settles types; see docs/formats.md
      incompatible: quarantine # schemas that cannot be merged: quarantine | stop the dataset
    route:
      by: field:type           # topic | header:NAME | field:PATH | schema; decides the dataset
      # or plugin:NAME, and options: {...} beside it; see docs/plugins.md
    # datasets:                # declared datasets; the others follow `unknown`
    #   page_view:
    #     schema: schemas/page_view.avsc   # Avro (.avsc) or JSON Schema (.json)
    #     team: web                        # who looks after its broken records
    #     partition: [day, hour]           # instead of the feed's own
    #     incompatible: stop               # instead of the feed's own
    #   order:
    #     types: {id: string}              # as `decode.types`; not beside `schema`
    unknown: create            # create | quarantine | filter
    max_new_types: 1000        # datasets that one window may create
    # forks:                   # send records to additional datasets
    #   - to: big_orders
    #     from: [order]                    # default: from every dataset
    #     when: {amount: {least: 1000}}    # is | fits | null | least | most | multiple_of
    # a plug-in may decide in place of `when`; see docs/plugins.md
    time:
      field: event_time        # without it: Kafka's timestamp
      unit: auto               # auto | s | ms | us | ns | iso8601 | a pattern such as '%d.%m.%Y'
      missing: quarantine      # absent or null: quarantine | kafka | a day to use instead
      unreadable: quarantine   # there, but not a time: the same choices
      not_before: 2015-01-01   # the earliest time that is accepted
      not_after: 2d            # and how far in the future a time may be
      outside: quarantine      # times that are not accepted: the same choices
      zone: UTC                # the time zone of days and hours
    partition: [day]           # day | hour | minute | field:PATH | plugin:NAME
    include: []                # additional columns: key, headers, window, timestamp_type
    tombstones: filter         # records without a value: filter | quarantine | keep
    convert: []                # steps, such as [{drop: [debug]}, {mask: {phone: 4}}]
    # rename drop keep cast set filter flatten mask hash encrypt plugin; see docs/converters.md
    format: parquet            # parquet | orc | avro | jsonl | text | sequencefile
    compression: zstd          # zstd | snappy | gzip | lz4 | none
    # in avro zstd | snappy | deflate | none, in jsonl and text zstd | gzip | none,
    # in sequencefile block | record | none; records as they came, see docs/formats.md:
    # with format text also `text: {line_ends: quarantine}`, or escape;
    # with format sequencefile also `sequencefile: {key: offset}`, or msgpack
    files: {target: 256MB, gather: auto}   # cut above target; auto (by volume) | partition
    # per_topic:               # topics whose windows are cut by a policy of their own
    #   events: {window: {every: 5m, max_records: 100000}}
    on_gap: stop               # records expired before they were read: stop | accept
    export_offsets: group      # commit offsets for lag tools: group (penstock-events) | none
    priority: 5                # 0 to 100; higher ones are read first
    pool: null                 # a pool of `run.pools`
    timeout: 1h                # a window that is read longer is cancelled, alone
    # finalize: {day: true, hour: false, delay: 10m}   # mark complete days with _SUCCESS
    # retain: 90d              # remove days of datasets that are older
    # seal: 30d                # pack journal entries older than this; for stores that count objects
    generation: 0              # a number in file names
    backup: null               # a feed with `decode: {format: raw}` over the same topics
_BACKUP_FEED_
# Recognised, and not available in this version:
# dispersals: {}
"""


_NO_BACKUP = "backup: null               # a feed with `decode: {format: raw}` over the same topics"
_BACKUP = "backup: raw_events         # the feed below, which keeps the same records as they came"
_BACKUP_FEED = """
  # The backup of `events`: every byte of every record, whatever `events` thinks of it. No record of
  # it is ever decoded, filtered or refused; see docs/backup.md.
  raw_events:
    topics: [events]           # all topics of the feed that it backs up
    start: earliest
    decode: {format: raw}      # the value as it is, in the column `value`
    route: {by: topic}         # one dataset for each topic
    include: [key, headers, timestamp_type]
    tombstones: keep           # a record without a value is a record
    time:                      # days by Kafka's timestamp; records with an odd one are kept, too
      missing: 9999-12-31      # a day that retention and complete days leave alone
      outside: 9999-12-31
    partition: [day]
    on_gap: accept             # save what is left; the journal names what had expired
    window: {every: 5m}        # fewer and larger files
    # retain: 365d             # longer than Kafka keeps the records
"""


def example_text(*, with_backup: bool = False) -> str:
    """The text of a new configuration. It is valid, and it explains every key.

    `with_backup` adds a feed that keeps every record as it came.
    """
    if not with_backup:
        return _EXAMPLE.replace("_BACKUP_FEED_", "")
    return _EXAMPLE.replace(_NO_BACKUP, _BACKUP).replace("_BACKUP_FEED_", _BACKUP_FEED)
