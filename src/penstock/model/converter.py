"""The former home of `penstock.api.converter`: converters of 0.1.0 import its names from here."""

from penstock.api.converter import BatchConverter, ConvertedBatch, RecordConverter

__all__ = ["GROUP", "BatchConverter", "ConvertedBatch", "RecordConverter"]

GROUP = "penstock.converters"
