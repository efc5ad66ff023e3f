"""The commented `penstock.yaml` that a user starts from."""

_EXAMPLE = """\
# What Penstock reads from Kafka, and where it puts it. Look at it with `penstock check`.
# Durations: 500ms 30s 5m 1h 2d. Sizes: 512KiB 64MB 1GB. Paths start at this file.
# Secrets only below kafka, registry, spark and as keys of convert, as ${env:NAME} or ${file:path}.
version: 1

# The directory of the lake; PENSTOCK__LAKE=... in the environment wins over it.
lake: ./lake

# Keys of Kafka's Java client, word for word.
kafka:
  bootstrap.servers: "localhost:9092"
  # security.protocol: SASL_SSL
  # sasl.mechanism: SCRAM-SHA-512
  # sasl.jaas.config: >-
  #   org.apache.kafka.common.security.scram.ScramLoginModule required
  #   username="penstock" password="${env:KAFKA_PASSWORD}";

# Where the schemas of Avro and Protobuf records are found; Confluent's API.
# registry:
#   url: "http://localhost:8081"
#   user: penstock             # or token: "${env:REGISTRY_TOKEN}"
#   password: "${env:REGISTRY_PASSWORD}"
#   ca: /etc/ssl/registry.pem  # a certificate authority of your own
#   timeout: 10s

# Keys of Spark, word for word.
spark:
  spark.master: "local[2]"

# What every feed inherits; a feed's own key wins.
defaults:
  window:                      # a window ends when the first of these is reached
    every: 60s                 # a quiet topic is delivered after this time, too
    max_records: 5000000
    max_bytes: 1GB
  quarantine:                  # above this share of broken records the window stops
    max_ratio: 0.05
    min_records: 1000          # smaller windows are not judged

feeds:
  events:                      # names: small letters, digits, _ and -
    topics: [events]           # or pattern: 'logs\\..*' with exclude: [logs.debug]
    start: earliest            # earliest | latest | 2026-11-01T00:00:00Z | {events: {0: 1200}}
    decode:
      format: json             # json | avro | protobuf | msgpack | text | raw
      # Avro: with schema: FILE.avsc where one schema is for all records, else the registry's
      # Json: with ids: true where records begin with the id of a JSON Schema
      # Json: with spread: true where a value may be an array of events
      # Protobuf: likewise, with schema: FILE.proto or FILE.desc and message: shop.Click
      # Text: pattern: '(?P<level>\\w+) (?P<text>.*)', or delimiter: ';' with columns: [a, b]
      incompatible: quarantine # schemas that cannot be merged: quarantine | stop the dataset
    route:
      by: field:type           # topic | header:NAME | field:PATH | schema; names the dataset
    # datasets:                # declared datasets; the others follow `unknown`
    #   page_view:
    #     schema: schemas/page_view.avsc   # Avro (.avsc) or JSON Schema (.json)
    #     team: web                        # who looks after its quarantine
    #     partition: [day, hour]           # instead of the feed's own
    #     incompatible: stop               # instead of the feed's own
    unknown: create            # create | quarantine | filter
    # forks:                   # records that go to a further dataset as well
    #   - to: big_orders
    #     from: [order]                    # left out: of every dataset
    #     when: {amount: {least: 1000}}    # is | fits | null | least | most | multiple_of
    time:
      field: event_time        # left out: Kafka's timestamp
      unit: auto               # auto | s | ms | us | ns | iso8601 | a pattern such as '%d.%m.%Y'
      missing: quarantine      # quarantine | kafka | a day that stands in for it
      not_before: 2015-01-01   # earlier times are not believed
      not_after: 2d            # nor those further ahead of the clock than this
      zone: UTC                # in which days and hours are cut
    partition: [day]           # day | hour | minute | field:PATH
    include: []                # more columns: key, headers, window
    tombstones: filter         # records without a value: filter | quarantine | keep
    convert: []                # steps, such as [{drop: [debug]}, {mask: {phone: 4}}]
    # rename drop keep cast set filter flatten mask hash encrypt plugin; see docs/converters.md
    format: parquet            # parquet | orc
    compression: zstd          # zstd | snappy | gzip | lz4 | none
    on_gap: stop               # records expired before they were read: stop | accept
    export_offsets: group      # after each window, for lag tools: group penstock-events | none
    generation: 0              # raised when delivered ranges are delivered anew

# Recognised, and not available in this version:
# dispersals: {}
"""


def example_text() -> str:
    """The text of a new configuration: valid as it is, every key explained."""
    return _EXAMPLE
