"""The flow shop as engines compile it, a module for each bound and kind of device."""
