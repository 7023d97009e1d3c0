"""Proofs: what an access claims, and the certificate that it holds on its whole domain."""

from simlayout.proofs.access import Access
from simlayout.proofs.certificate import Certificate, digest
from simlayout.proofs.equivalence import Equivalence, equivalent
from simlayout.proofs.operands import prove_operand, prove_tile
from simlayout.proofs.source import Source
from simlayout.proofs.verify import verify

__all__ = ["Access", "Certificate", "Equivalence", "Source", "digest",
           "equivalent", "prove_operand", "prove_tile", "verify"]
