"""The version, where modules can ask for it without importing the package's names."""

VERSION = "0.3.0"
