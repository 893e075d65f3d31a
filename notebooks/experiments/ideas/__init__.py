"""What was tried on the way and gained nothing, kept runnable."""
