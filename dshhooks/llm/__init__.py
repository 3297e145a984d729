"""The model seam: the service, the adapter contract, the assembler, the adapters."""

from __future__ import annotations
