"""Explorers: a picture of a lesson's numbers, with controls that change it at once.

`drawing` makes the live pictures, `panel` puts controls and a line of words round one, `line`
reads what somebody typed. Then a module for each explorer.
"""
