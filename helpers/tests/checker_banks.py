"""Every attempt beyond `given.py`: importing the other parts adds theirs to the bank."""

from helpers.tests import checker_bank_newcomers, checker_bank_styles
from helpers.tests.checker_bank import BANK

__all__ = ["BANK", "checker_bank_newcomers", "checker_bank_styles"]
