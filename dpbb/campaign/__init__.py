"""Campaigns: sets of instances proved one after another, with records that stay."""
