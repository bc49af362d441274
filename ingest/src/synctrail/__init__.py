"""Brings sync logs of reverse-ETL tools into a warehouse and keeps them."""

__version__ = "0.1.0"
