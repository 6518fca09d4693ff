"""Texts for people and files: names, JSON, HTML, files written whole or not at all."""
