"""From `penstock.yaml`, environment and flags to frozen specs; the rules of that file."""
